// Opens a heap snapshot with memlab and looks at what it found: 100,000 nodes in a list, and the table that holds it.
'use strict';
const {config, utils} = require('@memlab/core');

async function main() {
  config.muteConsole = true;
  const heap = await utils.getSnapshotFromFile(process.argv[2], {buildNodeIdIndex: true});
  const count = {};
  let table = null;
  heap.nodes.forEach(node => {
    count[node.name] = (count[node.name] || 0) + 1;
    if (node.name === 'table <"&>') table = node;
  });
  if (count.node !== 100000) throw new Error(`${count.node} nodes instead of 100000`);
  if (table === null) throw new Error('the table is not there');
  const held = table.references.map(edge => edge.toNode).find(node => node.name === 'node');
  if (!held) throw new Error('the table does not hold the list');
  let length = 0;
  for (let at = held; at; length++) {
    const edge = at.references.find(reference => reference.name_or_index === 'next');
    at = edge && edge.toNode.name === 'node' ? edge.toNode : null;
  }
  if (length !== 100000) throw new Error(`the list has ${length} nodes`);
  process.stdout.write(`opened: ${heap.nodes.length} nodes, ${heap.edges.length} edges, a list of ${length}\n`);
}

main().catch(error => {
  process.stdout.write(`${error.stack}\n`);
  process.exit(1);
});
