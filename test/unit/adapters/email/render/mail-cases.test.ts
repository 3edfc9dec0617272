// The Markdown cases, and hostile words, on both halves of a mail.
import { describe, expect, test } from 'vitest'
import { quoteText, renderMail } from '../../../../../adapters/email/render/body.ts'
import { parseMarkdown } from '../../../../../src/markdown/index.ts'
import { readHtml } from '../../../markdown/read-html.ts'

const mail = (markdown: string) => renderMail(parseMarkdown(markdown))
/** Between the body's tags, without styles. */
const bodyOf = (html: string) => (/<body[^>]*>(.*)<\/body>/s.exec(html)?.[1] ?? '').replace(/ style="[^"]*"/g, '')

type Case = { readonly id: string; readonly markdown: string; readonly html: string; readonly text: string }

const cases: readonly Case[] = [
  { id: 'M01', markdown: '**Status:**OK', html: '<p><strong>Status:</strong>OK</p>', text: '*Status:*OK' },
  {
    id: 'M02',
    markdown: '这是**重点**内容',
    html: '<p>这是<strong>重点</strong>内容</p>',
    text: '这是*重点*内容',
  },
  {
    id: 'M03',
    markdown: 'mid**dle**word',
    html: '<p>mid<strong>dle</strong>word</p>',
    text: 'mid*dle*word',
  },
  {
    id: 'M04',
    markdown: '***both*** **bold _it_**',
    html: '<p><em><strong>both</strong></em> <strong>bold <em>it</em></strong></p>',
    text: '_*both*_ *bold _it_*',
  },
  {
    id: 'M05',
    markdown: '# The **bold** `code`',
    html: '<h1>The <strong>bold</strong> <code>code</code></h1>',
    text: 'The *bold* `code`\n=================',
  },
  {
    id: 'M06',
    markdown: '7. a\n   - b\n     1. c\n        - d\n8. e',
    html: '<ol start="7"><li>a<ul><li>b<ol><li>c<ul><li>d</li></ul></li></ol></li></ul></li><li>e</li></ol>',
    text: '7. a\n   - b\n     1. c\n        - d\n8. e',
  },
  {
    id: 'M07',
    markdown: '- [x] done\n- [ ] open',
    html: '<ul><li>☑ done</li><li>☐ open</li></ul>',
    text: '- [x] done\n- [ ] open',
  },
  {
    id: 'M08',
    markdown: '| A | B |\n|:--|--:|\n| **b** | [x](https://x.example) |',
    html: '<table><tbody><tr><th>A</th><th>B</th></tr><tr><td><strong>b</strong></td><td><a href="https://x.example/" rel="noopener noreferrer">x</a></td></tr></tbody></table>',
    text: 'A        B\n---  -----\n*b*  x [1]\n\n[1] https://x.example/',
  },
  {
    id: 'M11 (differs: raw HTML is words already in the tree, so it is shown and not stripped)',
    markdown: '<b>x</b><script>alert(1)</script>',
    html: '<p>&lt;b&gt;x&lt;/b&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>',
    text: '<b>x</b><script>alert(1)</script>',
  },
  {
    id: 'M12',
    markdown: 'https://e.com/@user/a_b*c',
    html: '<p><a href="https://e.com/@user/a_b*c" rel="noopener noreferrer">https://e.com/@user/a_b*c</a></p>',
    text: 'https://e.com/@user/a_b*c',
  },
  {
    id: 'M14',
    markdown: '```js\nlet a = "1 < 2"',
    html: '<pre><code>let a = &quot;1 &lt; 2&quot;</code></pre>',
    text: '    let a = "1 < 2"',
  },
  {
    id: 'S72',
    markdown: '[pay](javascript:alert(1)) [a](data:text/html,x)',
    html: '<p>pay a</p>',
    text: 'pay a',
  },
  {
    id: 'entities',
    markdown: '&lt;script&gt; &amp;lt;',
    html: '<p>&lt;script&gt; &amp;lt;</p>',
    text: '<script> &lt;',
  },
  {
    id: 'quotes in an address',
    markdown: '[x](<https://e.example/a" onclick="b c>)',
    html: '<p><a href="https://e.example/a%22%20onclick=%22b%20c" rel="noopener noreferrer">x</a></p>',
    text: 'x [1]\n\n[1] https://e.example/a%22%20onclick=%22b%20c',
  },
  {
    id: 'names of everybody',
    markdown: '<!channel> @everyone',
    html: '<p>&lt;!channel&gt; @everyone</p>',
    text: '<!channel> @everyone',
  },
  { id: 'overrides', markdown: 'a\u202eb\u2066c', html: '<p>abc</p>', text: 'abc' },
]

describe.each(cases)('$id', ({ markdown, html, text }) => {
  test('as HTML', () => expect(bodyOf(mail(markdown).html)).toBe(html))
  test('as text', () => expect(mail(markdown).text).toBe(text))
})

describe('HTML', () => {
  test('is a whole document that says its alphabet and, where known, its language', () => {
    const { html } = renderMail(parseMarkdown('x'), { lang: 'de"><script>' })
    expect(html).toMatch(
      /^<!DOCTYPE html>\n<html lang="de&quot;&gt;&lt;script&gt;"><head><meta charset="utf-8"><\/head><body /,
    )
    expect(readHtml(html).repaired).toEqual([])
  })

  test('fetches nothing: an image is a link', () => {
    const { used, links } = readHtml(mail('![alt](https://e.example/a.png) <img src=x onerror=alert(1)>').html)
    expect([...used].some((each) => /img|src|script|on\w+/.test(each))).toBe(false)
    expect(links).toEqual(['https://e.example/a.png'])
  })

  test('keeps the white space of code', () => {
    expect(bodyOf(mail('```\n\n  a\n\tb\n```').html)).toBe('<pre><code>\n  a\n\tb</code></pre>')
  })
})

describe('text', () => {
  test('wraps at 78 columns between words, never in an address', () => {
    const address = `https://e.example/${'x'.repeat(90)}`
    const lines = mail(`${'word '.repeat(40)}${address} ${'word '.repeat(40)}`).text.split('\n')
    expect(lines).toContain(address)
    expect(lines.filter((line) => line !== address && line.length > 78)).toEqual([])
    expect(lines.length).toBeLessThan(9)
  })

  test('wraps inside items and quotes, and cuts words without spaces where they may be cut', () => {
    const { text } = mail(`- ${'word '.repeat(40)}\n\n> ${'word '.repeat(40)}\n\n${'中文'.repeat(60)}`)
    expect(
      text.split('\n').every((line) => [...line].reduce((sum, each) => sum + (each > '\u2e80' ? 2 : 1), 0) <= 78),
    ).toBe(true)
    expect(text).toMatch(/^- word .*\n {2}word/)
    expect(text.replaceAll('\n', '')).toContain('中文'.repeat(60))
  })

  test('gives one note to one address', () => {
    expect(mail('[a](https://x.example) [b](https://y.example) [c](https://x.example)').text).toBe(
      'a [1] b [2] c [1]\n\n[1] https://x.example/\n[2] https://y.example/',
    )
  })

  test('never starts a line as a mailbox does', () => {
    expect(mail(`From me\n\n${'x'.repeat(76)} From you`).text).toBe(` From me\n\n${'x'.repeat(76)}\n From you`)
  })

  test('shows a table that is too wide as a list', () => {
    const { text } = mail(`| A | B |\n|---|---|\n| ${'a'.repeat(39)} | ${'b'.repeat(60)} |`)
    expect(text).toBe(`- A: ${'a'.repeat(39)}\n  B: ${'b'.repeat(60)}`)
  })
})

test('nothing to say is no mail', () => expect(mail('  \n')).toEqual({ html: '', text: '' }))

test('100 KB of stars are a mail in linear time', () => {
  const small = timeOf(() => mail('*'.repeat(20_000)))
  expect(timeOf(() => mail('*'.repeat(100_000)))).toBeLessThan(Math.max(500, small * 25))
})

test('quoted words stand behind marks, forty lines of them at most', () => {
  expect(quoteText('a\r\n\r\n> b\rc\n\n')).toBe('> a\n>\n>> b\n> c')
  expect(quoteText('x\n'.repeat(100)).split('\n')).toEqual([...Array.from({ length: 40 }, () => '> x'), '> […]'])
})

function timeOf(work: () => unknown): number {
  const started = process.cpuUsage().user / 1000
  work()
  return process.cpuUsage().user / 1000 - started
}
