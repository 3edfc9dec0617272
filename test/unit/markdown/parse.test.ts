// Reading Markdown: what never becomes more than words, and what is read lazily.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLazyTree, parseMarkdown, plainTree } from '../../../src/markdown/index.ts'
import type { Inline } from '../../../src/markdown/tree.ts'
import { scaled } from '../../setup/scale.ts'
import { letters, plainOf } from './shown.ts'

const inlineOf = (markdown: string): readonly Inline[] => {
  const [block] = parseMarkdown(markdown).children
  return block?.type === 'paragraph' ? block.children : []
}
const urls = (markdown: string) => inlineOf(markdown).flatMap((node) => (node.type === 'link' ? [node.url] : []))

describe('an address', () => {
  test.each([
    ['a script', '[x](javascript:alert(1))', []],
    ['a disguised script', '[x](java&#115;cript:alert(1)) [y](<java\tscript:x>)', []],
    ['data', '[x](data:text/html,y)', []],
    ['a path', '[x](/admin) [y](docs/a.md)', []],
    ['a user name', '[x](https://bank.example@evil.example/) https://a:b@evil.example', []],
    ['mail and telephone', '[m](mailto:a@b.example) [t](tel:+1)', ['mailto:a@b.example', 'tel:+1']],
    ['one in angle brackets', '<https://e.com/a>', ['https://e.com/a']],
    ['one that a sentence ends with', '(see https://e.com/a_(b).)', ['https://e.com/a_(b)']],
    ['one among letters without spaces', '请看https://e.com/页。然后', ['https://e.com/%E9%A1%B5']],
    ['a domain without a scheme', 'e.com and www.e.com', []],
  ])('%s', (_, markdown, expected) => {
    expect(urls(markdown)).toEqual(expected)
  })

  test('that is refused costs its link, not its label', () => {
    expect(plainOf(parseMarkdown('a [label](javascript:x) b'))).toBe('a label b')
  })

  test('is shown where its label is empty, and links never nest', () => {
    expect(urls('[](https://e.com/)')).toEqual(['https://e.com/'])
    expect(plainOf(parseMarkdown('[ ](https://e.com/)'))).toBe('https://e.com/')
    const nodes = inlineOf(
      '[a [b](https://b.example) c](https://a.example) [![x](https://c.example)](https://d.example)',
    )
    const links = nodes.flatMap((node) => (node.type === 'link' ? [node] : []))
    expect(links.map(({ url }) => url)).toEqual(['https://b.example/', 'https://a.example/', 'https://d.example/'])
    for (const { children } of links) expect(children.every(({ type }) => type === 'text')).toBe(true)
  })
})

describe('words', () => {
  test('beyond the columns of a table stay in its last one', () => {
    expect(plainOf(parseMarkdown('| a | b |\n|---|---|\n| 1 | 2 | 3 \\| 4 | 5 |'))).toContain('2 | 3 | 4 | 5')
  })

  test('of a row that is too short are padded with nothing', () => {
    const [table] = parseMarkdown('| a | b |\n|---|---|\n| 1').children
    expect(table?.type === 'table' && table.children.map((row) => row.children.length)).toEqual([2, 2])
  })

  test('after more nodes than we format are still there', () => {
    const items = Array.from({ length: 4000 }, (_, index) => `- **item${index}**`)
    const shown = plainOf(parseMarkdown(items.join('\n')))
    expect(shown.match(/item\d+/g)).toEqual(items.map((_, index) => `item${index}`))
  })

  test('are never lost, whatever marks stand around them', () => {
    const bits = fc.constantFrom(
      '*',
      '**',
      '_',
      '~~',
      '`',
      '```',
      '\n',
      '\n\n',
      ' ',
      '    ',
      '[',
      '](',
      ')',
      '<',
      '>',
      '&',
      '\\',
      '|',
      '\n|-|-|\n',
      '\n---\n',
      '\n- ',
      '\n1. ',
      '\n# ',
      '\n> ',
      '- [x] ',
      '[^1]',
      '\n```ts\n',
      '!',
      '![',
      ': ',
      '://',
    )
    const word = fc.integer({ min: 0, max: 99 }).map((number) => `word${number}`)
    fc.assert(
      fc.property(fc.array(fc.oneof(bits, word), { maxLength: 60 }), (parts) => {
        const markdown = parts.join('')
        // An info string, a refused address and a title are no words to a reader.
        fc.pre(!/```|~~~|\]\(/.test(markdown))
        const shown = plainOf(parseMarkdown(markdown))
        expect(markdown.match(/word\d+/g)?.toSorted() ?? []).toEqual(shown.match(/word\d+/g)?.toSorted() ?? [])
      }),
      { numRuns: scaled(1000) },
    )
  })
})

describe('plain text', () => {
  test('is not read as Markdown', () => {
    const said = '# no *heading*\n- `no` list\n\n[x](https://e.com) <b>'
    expect(plainOf(plainTree(said))).toBe(said)
  })

  test('keeps its line ends, its addresses and the names it may call', () => {
    expect(plainTree('a\nsee https://e.com/@ada\n\n@ada', { mayNotify: new Set(['@ada']) }).children).toEqual([
      {
        type: 'paragraph',
        children: [
          { type: 'text', value: 'a' },
          { type: 'break' },
          { type: 'text', value: 'see ' },
          { type: 'link', url: 'https://e.com/@ada', children: [{ type: 'text', value: 'https://e.com/@ada' }] },
        ],
      },
      { type: 'paragraph', children: [{ type: 'mention', name: '@ada' }] },
    ])
  })

  test('without marks is the same tree either way', () => {
    const said = 'One two three.\nFour five (six).\n\nSeven!'
    expect(parseMarkdown(said)).toEqual(plainTree(said))
    expect(parseMarkdown(`${said}\n\n**x**`).children.slice(0, 2)).toEqual(plainTree(said).children)
  })
})

test('a lazy tree is read once, when it is asked for', () => {
  const asked: string[] = []
  const names = new Proxy(new Set<string>(['@ada']), {
    get(set, key) {
      asked.push(String(key))
      const value: unknown = Reflect.get(set, key)
      return typeof value === 'function' ? value.bind(set) : value
    },
  })
  const tree = createLazyTree('hi @ada', { mayNotify: names })
  expect(asked).toEqual([])
  expect(tree()).toBe(tree())
  expect(letters(JSON.stringify(tree()))).toContain('mention')
})
