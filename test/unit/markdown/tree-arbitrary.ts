// Any tree a parser could make, and more: nested, long, hostile. Its words are numbered, so that a lost one is noticed.
import * as fc from 'fast-check'
import type { Block, Inline, Link, Root, Table } from '../../../src/markdown/tree.ts'

const word = fc.integer({ min: 0, max: 99 }).map((number) => ` word${number} `)
const hostile = fc.constantFrom(
  '<!channel>',
  '<@U12345>',
  '@everyone',
  '@bob@far.example',
  '<script>alert(1)</script>',
  '"onload="x',
  '&lt;b&gt;',
  '*_~`|>',
  '``` ',
  'From ',
  '中文字符',
  '👩‍👩‍👧‍👦🇩🇪',
)
const words = fc
  .array(fc.oneof({ weight: 4, arbitrary: word }, hostile), { minLength: 1, maxLength: 30 })
  .map((all) => all.join(''))
const url = fc.constantFrom(
  'https://e.example/a?b=1&c=2',
  'https://e.example/%22quoted%22|pipe',
  'mailto:me@e.example',
  'tel:+4912345',
  'https://e.example/@user/a_b*c',
)

const leaf: fc.Arbitrary<Inline> = fc.oneof(
  { weight: 5, arbitrary: words.map((value): Inline => ({ type: 'text', value })) },
  words.map((value): Inline => ({ type: 'inlineCode', value })),
  fc.constant<Inline>({ type: 'break' }),
  fc.constant<Inline>({ type: 'mention', name: '@ann' }),
)
const label = fc.array(leaf, { minLength: 1, maxLength: 2 })
const link: fc.Arbitrary<Inline> = fc.record({ type: fc.constant<Link['type']>('link'), url, children: label })
const marked = (child: fc.Arbitrary<Inline>): fc.Arbitrary<Inline> =>
  fc.record({
    type: fc.constantFrom('strong' as const, 'emphasis' as const, 'delete' as const),
    children: fc.array(child, { minLength: 1, maxLength: 3 }),
  })
const inline: fc.Arbitrary<Inline> = fc.oneof({ weight: 4, arbitrary: leaf }, link, marked(leaf), marked(marked(leaf)))
const inlines = fc.array(inline, { minLength: 1, maxLength: 6 })

const table: fc.Arbitrary<Block> = fc
  .tuple(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 8 }))
  .chain(([columns, rows]) => {
    const cell = fc.array(leaf, { maxLength: 2 }).map((children) => ({ type: 'tableCell' as const, children }))
    const row = fc.array(cell, { minLength: columns, maxLength: columns })
    return fc.array(row, { minLength: rows, maxLength: rows }).map(
      (all): Table => ({
        type: 'table',
        align: Array.from(
          { length: columns },
          (_, index) => (['left', 'center', 'right', null] as const)[index % 4] ?? null,
        ),
        children: all.map((children) => ({ type: 'tableRow', children })),
      }),
    )
  })

const flat: fc.Arbitrary<Block> = fc.oneof(
  { weight: 4, arbitrary: inlines.map((children): Block => ({ type: 'paragraph', children })) },
  fc
    .tuple(fc.constantFrom(1 as const, 2 as const, 4 as const), inlines)
    .map(([depth, children]): Block => ({ type: 'heading', depth, children })),
  words.map((value): Block => ({ type: 'code', value })),
  fc.constant<Block>({ type: 'thematicBreak' }),
)

const nested = (child: fc.Arbitrary<Block>): fc.Arbitrary<Block> => {
  const children = fc.array(child, { minLength: 1, maxLength: 3 })
  const item = fc.record({ checked: fc.constantFrom(null, null, true, false), children }).map((each) => ({
    type: 'listItem' as const,
    ...each,
  }))
  return fc.oneof(
    children.map((each): Block => ({ type: 'blockquote', children: each })),
    fc
      .tuple(fc.boolean(), fc.integer({ min: 0, max: 12 }), fc.array(item, { minLength: 1, maxLength: 4 }))
      .map(([ordered, start, items]): Block => ({ type: 'list', ordered, start, children: items })),
  )
}

const anyBlock = fc.oneof({ weight: 4, arbitrary: flat }, table, nested(fc.oneof(flat, table)), nested(nested(flat)))

export const anyTree: fc.Arbitrary<Root> = fc
  .array(anyBlock, { maxLength: 30, size: 'max' })
  .map((children) => ({ type: 'root', children }))

/** How often each numbered word stands in a text. */
function countWords(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const [found] of text.matchAll(/word\d+/g)) counts.set(found, (counts.get(found) ?? 0) + 1)
  return counts
}

/** Words of the tree that the text shows less often; headers of tables may come again. */
export function lostWords(root: Root, text: string): readonly string[] {
  const shown = countWords(text)
  return [...countWords(JSON.stringify(root))].flatMap(([each, times]) =>
    (shown.get(each) ?? 0) < times ? [each] : [],
  )
}
