/* See page.h. */
#include "page.h"

#include "text.h"

#include <math.h>
#include <string.h>

/* Some calls' results at a time: a line prints several. */
static char *page_place(void)
{
    static char places[32][48];
    static unsigned next;
    return places[next++ % 32];
}

enum { PAGE_SHORT = 48 };

/* What has more digits than a place is written with an exponent: 1.23e+40. Both forms fit a place with their unit. */
#define PAGE_PLAIN_MOST 1e21

/* Three digits, and no zeros behind the point. */
static const char *page_number(double value, const char *unit)
{
    char *place = page_place();
    bool plain = fabs(value) < PAGE_PLAIN_MOST;
    int digits = !plain || fabs(value) >= 100 ? 0 : fabs(value) >= 10 ? 1 : 2;
    int length = plain ? snprintf(place, PAGE_SHORT, "%.*f", digits, value) : snprintf(place, PAGE_SHORT, "%.3g", value);
    while (digits > 0 && length > 0 && place[length - 1] == '0') {
        place[--length] = '\0';
        digits--;
    }
    if (length > 0 && place[length - 1] == '.') place[--length] = '\0';
    snprintf(place + length, PAGE_SHORT - (size_t)length, "%s%s", *unit != '\0' ? "\u202f" : "", unit);
    return place;
}

const char *page_count(double value)
{
    return value >= 1e9   ? page_number(value / 1e9, "G")
           : value >= 1e6 ? page_number(value / 1e6, "M")
           : value >= 1e4 ? page_number(value / 1e3, "k")
                          : page_number(value, "");
}

const char *page_bytes(double bytes)
{
    return bytes >= 1073741824.0 ? page_number(bytes / 1073741824.0, "GB")
           : bytes >= 1048576.0  ? page_number(bytes / 1048576.0, "MB")
           : bytes >= 1024       ? page_number(bytes / 1024, "KB")
                                 : page_number(bytes, "B");
}

const char *page_time(double seconds)
{
    return seconds >= 1        ? page_number(seconds, "s")
           : seconds >= 1e-3   ? page_number(seconds * 1e3, "ms")
           : seconds >= 0.5e-6 ? page_number(seconds * 1e6, "µs")
           : seconds > 0       ? page_number(seconds * 1e9, "ns")
                               : "0";
}

const char *page_percent(double part) { return page_number(part * 100, "%"); }

const char *page_whole(double value)
{
    char digits[40], *place = page_place();
    if (!(fabs(value) < PAGE_PLAIN_MOST)) return page_number(value, "");
    int length = snprintf(digits, sizeof digits, "%.0f", value), to = 0;
    for (int i = 0; i < length && to < PAGE_SHORT - 2; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') place[to++] = ',';
        place[to++] = digits[i];
    }
    place[to] = '\0';
    return place;
}

/* Light first; a phone gets smaller margins, fewer labels and columns. One text for each rule, since compilers need not take long ones. */
static const char *const page_style[] = {
    ":root{color-scheme:light "
    "dark;--paper:#fbfaf7;--card:#fff;--ink:#1d2021;--soft:#62666a;--rule:#e4e0d8;--used:#3a6ea5;--goal:#b5651d;"
    "--live:#2f7d4f;--mark:#7a5ea8;--sweep:#c8963e;--shake:#b0413e;--other:#8a8f94;--band:#7a5ea822;--bar:#3a6ea5;--dead:#d8d3c8}"
    "\n",
    "@media (prefers-color-scheme:dark){:root{--paper:#15171a;--card:#1c1f23;--ink:#e8e6e1;--soft:#9aa0a6;--rule:#2e3238;"
    "--used:#6ea8dc;--goal:#e0a06a;--live:#6cc18e;--mark:#b39ddb;--sweep:#e3bb6d;--shake:#ec8b86;--other:#848a91;--band:#b39ddb26;"
    "--bar:#6ea8dc;--dead:#3a3f46}}\n",
    "*{box-sizing:border-box}\n",
    "html{-webkit-text-size-adjust:100%}\n",
    "body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.55 \"Iowan Old Style\",\"Palatino Linotype\",Palatino,P052,"
    "\"URW Palladio L\",Georgia,\"Times New "
    "Roman\",serif;font-feature-settings:\"kern\",\"liga\";text-rendering:optimizeLegibility}\n",
    "main{max-width:62rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}\n",
    "h1{font-size:2.1rem;line-height:1.15;font-weight:600;letter-spacing:-.01em;margin:0 0 .35rem}\n",
    "h2{font-size:1.3rem;line-height:1.25;font-weight:600;margin:0 0 .15rem}\n",
    "header p,section>p{color:var(--soft);margin:0 0 1rem;max-width:44rem}\n",
    "section{margin:2.75rem 0 0}\n",
    ".ui,.cards,table,.axis,.legend,footer,summary{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu "
    "Sans\","
    "sans-serif;font-variant-numeric:tabular-nums lining-nums}\n",
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.75rem;margin:1.5rem 0 "
    "0;padding:0;list-style:none}\n",
    ".cards li{background:var(--card);border:1px solid var(--rule);border-radius:.6rem;padding:.75rem .9rem .7rem}\n",
    ".cards small{display:block;color:var(--soft);font-size:.78rem;line-height:1.35}\n",
    ".cards b{display:block;font-size:1.5rem;line-height:1.25;font-weight:600;letter-spacing:-.01em;white-space:nowrap}\n",
    "figure{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:.6rem;padding:1rem 1rem .6rem}\n",
    ".plot{position:relative;margin:.3rem 1rem 1.7rem 3.9rem;height:var(--h,15rem)}\n",
    ".plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}\n",
    ".axis{position:absolute;color:var(--soft);font-size:.74rem;line-height:1;white-space:nowrap}\n",
    ".axis.y{right:calc(100% + .55rem);transform:translateY(-50%)}\n",
    ".axis.x{top:calc(100% + .55rem);transform:translateX(-50%)}\n",
    ".axis.x.first{transform:none}.axis.x.last{transform:translateX(-100%)}\n",
    ".legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:0 0 "
    ".8rem;padding:0;list-style:none;font-size:.82rem;color:var(--soft)}\n",
    ".legend "
    "i{display:inline-block;width:.8em;height:.8em;border-radius:.2em;margin-right:.4em;vertical-align:-.05em;background:var(--c)}"
    "\n",
    "svg .grid{stroke:var(--rule);stroke-width:1}\n",
    "svg .line{fill:none;stroke:var(--c);stroke-width:1.75;stroke-linejoin:round}\n",
    "svg .area{fill:var(--c);opacity:.16}\n",
    "svg .dash{stroke-dasharray:5 4}\n",
    "svg .band{fill:var(--band)}svg .band:hover{fill:var(--mark);opacity:.35}\n",
    "svg .bar{fill:var(--c,var(--bar))}svg .bar:hover{opacity:.75}\n",
    "svg *{vector-effect:non-scaling-stroke}\n",
    ".scroll{overflow-x:auto}\n",
    "table{border-collapse:collapse;width:100%;font-size:.86rem;line-height:1.4}\n",
    "th,td{padding:.38rem .6rem .38rem 0;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}\n",
    "th{color:var(--soft);font-weight:500;font-size:.78rem}\n",
    "th:first-child,td:first-child{text-align:left}td:first-child{max-width:16rem;overflow:hidden;text-overflow:ellipsis}\n",
    "tr:last-child td{border-bottom:0}\n",
    "td.wide,th.wide{width:42%;min-width:8rem;text-align:left;padding-right:.9rem}\n",
    "td svg{display:block;width:100%;height:1.1rem;overflow:visible}\n",
    ".maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:1.1rem}\n",
    ".maps svg{display:block;width:100%;border-radius:.2rem}.maps p{margin:.35rem 0 "
    "0;color:var(--soft);font-size:.8rem;line-height:1.35}\n",
    ".note{color:var(--shake)}\n",
    "details{margin-top:.8rem}summary{cursor:pointer;color:var(--soft);font-size:.85rem}\n",
    "footer{margin-top:3rem;padding-top:.8rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.8rem}\n",
    "@media (max-width:36rem){body{font-size:16px}main{padding:1.5rem .9rem 3rem}h1{font-size:1.7rem}section{margin-top:2.1rem}"
    "figure{padding:.8rem .7rem .4rem}.plot{margin-left:3.3rem;--h:12rem}.cards{grid-template-columns:1fr 1fr;gap:.55rem}"
    ".cards "
    "b{font-size:1.25rem}.rare{display:none}td.wide,th.wide{min-width:6rem}th,td{padding-right:.45rem}td:first-child{max-width:8."
    "5rem}}\n",
    "@media print{:root{--paper:#fff}figure,.cards li{break-inside:avoid}}\n",
};

void page_begin(FILE *file, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          file);
    text_print_html(file, title);
    fputs("</title>\n<style>\n", file);
    for (size_t i = 0; i < sizeof page_style / sizeof page_style[0]; i++) fputs(page_style[i], file);
    fputs("</style>\n</head>\n<body>\n<main>\n", file);
}

void page_end(FILE *file) { fputs("</main>\n</body>\n</html>\n", file); }

void page_open_section(FILE *file, const char *id, const char *title, const char *about)
{
    fprintf(file, "<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n<p>%s</p>\n", id, id, id, title, about);
}

void page_close_section(FILE *file) { fputs("</section>\n", file); }

void page_card(FILE *file, const char *what, const char *value, const char *note)
{
    fprintf(file, "<li><small>%s</small><b>%s</b><small>%s</small></li>\n", what, value, note);
}
