// Spells out what a reader cannot see, or what turns a text around: as tfprof_widget/lib/text.py does.

const UNSEEN =
  /[\p{Cc}\xa0\xad\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

/** A name in which every character is seen. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) as number;
    const short: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
    const hex = (digits: number) => code.toString(16).padStart(digits, "0");
    return (
      short[character] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`)
    );
  });
}

/** The same of a text that has lines of its own, which stay. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}
