// Ranges over a text, for any tree: they keep the rules, and the HTML of a piece means exactly the piece.
import * as fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { type EntityPiece, entitiesHtml, renderEntityPieces } from '../../../../../adapters/telegram/render/entities.ts'
import type { Entity } from '../../../../../adapters/telegram/wire/calls.ts'
import { parseMarkdown } from '../../../../../src/markdown/index.ts'
import { asHtml } from '../../../markdown/shown.ts'
import { anyTree, lostWords } from '../../../markdown/tree-arbitrary.ts'

const limits = { maxRanges: 100, maxBytes: 32_768, inert: /@\w{2,32}/g }

describe('ranges of any tree', () => {
  test('are within the text, trimmed, never crossing, never in code, and few enough', () => {
    fc.assert(
      fc.property(anyTree, fc.constantFrom(4096, 300, 90), (root, limit) => {
        const pieces = renderEntityPieces(root, { ...limits, limit })
        for (const piece of pieces) {
          expect(piece.text.length).toBeLessThanOrEqual(limit)
          expect(piece.text.trim()).toBe(piece.text)
          expect(piece.text).not.toBe('')
          expect(piece.entities.length).toBeLessThanOrEqual(limits.maxRanges)
          expect(faults(piece)).toEqual([])
        }
        expect(lostWords(root, pieces.map(({ text }) => text).join('\n'))).toEqual([])
      }),
      { numRuns: 50 },
    )
  })

  test('are found again in the HTML of the piece', () => {
    fc.assert(
      fc.property(anyTree, (root) => {
        for (const piece of renderEntityPieces(root, { ...limits, limit: 500 })) {
          expect(readBack(entitiesHtml(piece))).toEqual({ text: piece.text, entities: sorted(piece.entities) })
        }
      }),
      { numRuns: 40 },
    )
  })
})

describe('what a chat has no range for', () => {
  test.each([
    ['a rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
    [
      'a mail address',
      '[Ann](mailto:ann@e.example) or [ann@e.example](mailto:ann@e.example)',
      'Ann (ann@e.example) or ann@e.example',
    ],
    ['code in a label', '[`x` y](https://e.com)', '<a href="https://e.com/">x y</a>'],
    ['bold around code', '**a `b` c**', '<b>a</b> <code>b</code> <b>c</b>'],
    ['a line end', 'a\nb', 'a\nb'],
    ['several blocks in an item', '- a\n\n  b\n- c', '• a\n  b\n• c'],
  ])('%s', (_, markdown, expected) => {
    expect(asHtml(markdown)).toBe(expected)
  })

  test('a name that may be called is left alone', () => {
    const root = parseMarkdown('@ada and @bob', { mayNotify: new Set(['@ada']) })
    expect(renderEntityPieces(root, { ...limits, limit: 100 }).map(entitiesHtml)).toEqual([
      '@ada and <code>@bob</code>',
    ])
  })
})

function faults({ text, entities }: EntityPiece): readonly string[] {
  return entities.flatMap((one, index) => {
    const end = one.offset + one.length
    const covered = text.slice(one.offset, end)
    const isTrimmed = covered.trimEnd() === covered && covered !== '' && end <= text.length && one.offset >= 0
    const clashes = entities.slice(index + 1).filter((other) => clash(one, other))
    return [
      ...(isTrimmed ? [] : [`${one.type} covers ${JSON.stringify(covered)}`]),
      ...clashes.map(({ type }) => `${type} in ${one.type}`),
    ]
  })
}

const isSolid = ({ type }: Entity) => type === 'code' || type === 'pre'

/** `other` begins no earlier than `one`. */
function clash(one: Entity, other: Entity): boolean {
  const end = one.offset + one.length
  if (other.offset >= end) return false
  if (other.offset + other.length > end || isSolid(one)) return true
  return isSolid(other) ? one.type !== 'blockquote' : one.type === other.type || other.type === 'blockquote'
}

const types: Readonly<Record<string, Entity['type']>> = {
  b: 'bold',
  i: 'italic',
  s: 'strikethrough',
  code: 'code',
  blockquote: 'blockquote',
}

function readBack(html: string): EntityPiece {
  const entities: Entity[] = []
  const open: { readonly name: string; readonly href?: string; readonly language?: string; readonly offset: number }[] =
    []
  let text = ''
  const parser = new Parser({
    onopentag(name, { href, class: language }) {
      const offset = text.length
      open.push({
        name,
        offset,
        ...(href === undefined ? {} : { href }),
        ...(language === undefined ? {} : { language }),
      })
    },
    ontext(words) {
      text += words
    },
    onclosetag() {
      const tag = open.pop()
      if (tag === undefined) return
      const place = { offset: tag.offset, length: text.length - tag.offset }
      const type = types[tag.name]
      if (tag.name === 'a') entities.push({ type: 'text_link', ...place, url: tag.href ?? '' })
      else if (tag.name === 'pre') entities.push({ type: 'pre', ...place })
      else if (tag.language === undefined && type !== undefined) entities.push({ type, ...place } as Entity)
    },
  })
  parser.end(html)
  return { text, entities: sorted(entities) }
}

function sorted(entities: readonly Entity[]): readonly Entity[] {
  const key = (entity: Entity) =>
    `${String(entity.offset).padStart(6, '0')} ${String(9999 - entity.length).padStart(6, '0')} ${entity.type}`
  return entities
    .map((entity) =>
      entity.type === 'pre' ? { type: entity.type, offset: entity.offset, length: entity.length } : entity,
    )
    .toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}
