// Opens a heap snapshot and an event trace with the developer tools that come with Chromium: the loader of their memory panel, and the
// trace model of their performance panel, in the page that they are themselves.
//
//     node devtools.js <chromium> <profile folder> <heap snapshot> <trace>
'use strict';
const fs = require('fs');
const puppeteer = require('puppeteer-core');

// These two run in that page.
async function loadSnapshot(text) {
  const worker = await import(new URL('./entrypoints/heap_snapshot_worker/heap_snapshot_worker.js', location.href).href);
  const loader = new worker.HeapSnapshotLoader.HeapSnapshotLoader({sendEvent() {}});
  for (let at = 0; at < text.length; at += 1 << 20) loader.write(text.slice(at, at + (1 << 20)));
  loader.close();
  await loader.parsingComplete;
  const channel = new MessageChannel();
  new worker.HeapSnapshot.SecondaryInitManager(channel.port2);
  const snapshot = await loader.buildSnapshot(channel.port1);
  const count = {};
  let retained = 0;
  for (let i = 0; i < snapshot.nodeCount; i++) {
    const node = snapshot.createNode(i * snapshot.nodeFieldCount);
    count[node.name()] = (count[node.name()] || 0) + 1;
    if (node.name().startsWith('table')) retained = node.retainedSize();
  }
  return {nodes: snapshot.nodeCount, edges: snapshot.edgeCount, node: count.node, bytes: snapshot.totalSize, retained};
}

async function loadTrace(text) {
  const trace = await import(new URL('./models/trace/trace.js', location.href).href);
  const model = trace.TraceModel.Model.createWithAllHandlers();
  await model.parse(JSON.parse(text).traceEvents, {metadata: {}, isFreshRecording: false});
  const parsed = model.parsedTrace(0);
  const data = parsed.data || parsed;
  const lanes = {}, inside = {};
  for (const thread of trace.Handlers.Threads.threadsInTrace(data)) {
    lanes[thread.name] = thread.entries.length;
    for (const [entry, node] of thread.entryToNode || []) {
      if (node.parent) inside[entry.name] = node.parent.entry.name;
    }
  }
  return {generic: data.Meta.traceIsGeneric, lanes, inside};
}

async function main() {
  const [chromium, profile, snapshot, trace] = process.argv.slice(2);
  const browser = await puppeteer.launch({
    executablePath: chromium,
    userDataDir: profile,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
           '--disable-component-update', '--disable-sync'],
  });
  try {
    const page = await browser.newPage();
    await page.goto('devtools://devtools/bundled/devtools_app.html');
    const found = {
      snapshot: await page.evaluate(loadSnapshot, fs.readFileSync(snapshot, 'utf8')),
      trace: await page.evaluate(loadTrace, fs.readFileSync(trace, 'utf8')),
    };
    process.stdout.write(JSON.stringify(found) + '\n');
  } finally {
    await browser.close();
  }
}

main().catch(error => {
  process.stdout.write(`${error.stack}\n`);
  process.exit(1);
});
