import { describe, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { escaped, page, staticTable } from "./page.ts";

describe("page", () => {
  test("fills each place of the template once", () => {
    const template = "<title><!--title--></title><div><!--static--></div><!--parts--><!--other-->";
    const places = { title: "a $& b", static: "<p><!--parts--></p>", parts: "P" };
    expect(page(template, places)).toBe("<title>a $& b</title><div><p><!--parts--></p></div>P<!--other-->");
  });
});

test("escaped spells out what is not seen", () => {
  expect(escaped("two\nlines\x1b\u202e<")).toBe("two\nlines\\x1b\\u202e&lt;");
});

test("escaped leaves no markup", () => {
  expect(escaped(`</script><img src="x" onerror='y'>&`)).toBe(
    "&lt;/script&gt;&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;",
  );
});

describe("staticTable", () => {
  test("shows the selected measures, and names as text", () => {
    const profile = profileOf("<b>x</b> = Add() 5us");
    const view = evaluate(profile, "graph", withDefaults({ select: ["micros", "device"] }));
    expect(staticTable(view)).toBe(
      "<table><tr><th>name</th><th>micros</th><th>total micros</th></tr>" +
        '<tr><td style="padding-left:0em">_TFProfRoot</td><td align="right">0 µs</td><td align="right">5 µs</td></tr>' +
        '<tr><td style="padding-left:1em">&lt;b&gt;x&lt;/b&gt;</td><td align="right">5 µs</td><td align="right">5 µs</td></tr></table>',
    );
  });

  test("says how many rows it leaves out", () => {
    const many = Array.from({ length: 250 }, (_, index) => `n${index} = Op()`).join("\n");
    expect(staticTable(evaluate(profileOf(many), "graph", withDefaults()))).toMatch(/<p>51 more rows<\/p>$/);
  });
});
