// What a terminal may be shown: characters that move the cursor, turn the direction of writing or cannot be seen become escapes.

/**
 * C0, DEL and C1 (U+009B begins a control sequence), bidi controls, separators of lines and paragraphs, soft hyphens,
 * zero-width characters, variation selectors and tags: all that Unicode calls control, format, ignorable or a half.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu
const invisibleButLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/** Values from outside in a line of ours: nothing in them may move the cursor, forge a line or hide. */
export function printableLine(text: string): string {
  return text.replace(/[\n\r\t]+/g, ' ').replace(invisible, escapeInvisible)
}

/** The same for text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.replace(invisibleButLines, escapeInvisible)
}

/** JSON text that parses to the same value: the characters can only stand in its strings. */
export function printableJson(json: string): string {
  return json.replace(invisibleButLines, unicodeEscape)
}

function escapeInvisible(character: string): string {
  return character.length === 1 ? unicodeEscape(character) : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

function unicodeEscape(character: string): string {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
}
