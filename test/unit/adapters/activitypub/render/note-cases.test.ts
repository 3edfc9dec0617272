// The Markdown, cutting and reply cases that concern posts, and hostile words in them.
import { describe, expect, test } from 'vitest'
import { noteLength, renderNoteThread } from '../../../../../adapters/activitypub/render/note.ts'
import { parseMarkdown } from '../../../../../src/markdown/index.ts'
import { readHtml } from '../../../markdown/read-html.ts'

const note = (markdown: string) =>
  renderNoteThread(parseMarkdown(markdown))
    .map(({ html }) => html)
    .join('|')
const anchor = (href: string, label: string) =>
  `<a href="${href}" rel="nofollow noopener noreferrer" target="_blank">${label}</a>`

type Case = { readonly id: string; readonly markdown: string; readonly html: string }

const cases: readonly Case[] = [
  { id: 'M01', markdown: '**Status:**OK', html: '<p><strong>Status:</strong>OK</p>' },
  { id: 'M02', markdown: '这是**重点**内容', html: '<p>这是<strong>重点</strong>内容</p>' },
  { id: 'M03', markdown: 'mid**dle**word', html: '<p>mid<strong>dle</strong>word</p>' },
  {
    id: 'M04',
    markdown: '***both*** **bold _it_** ~~gone~~',
    html: '<p><em><strong>both</strong></em> <strong>bold <em>it</em></strong> <del>gone</del></p>',
  },
  { id: 'M05', markdown: '# The **bold** `code`', html: '<p><strong>The bold <code>code</code></strong></p>' },
  {
    id: 'M06',
    markdown: '7. a\n   - b\n8. c',
    html: '<ol start="7"><li>a<ul><li>b</li></ul></li><li>c</li></ol>',
  },
  { id: 'M07', markdown: '- [x] done\n- [ ] open', html: '<ul><li>☑ done</li><li>☐ open</li></ul>' },
  {
    id: 'M08',
    markdown: '| A | B |\n|---|---|\n| **b** | [x](https://x.example) |\n|  | y |',
    html: `<ul><li>A: <strong>b</strong><br>B: ${anchor('https://x.example/', 'x')}</li><li>B: y</li></ul>`,
  },
  { id: 'M11', markdown: '<b>x</b><script>', html: '<p>&lt;b&gt;x&lt;/b&gt;&lt;script&gt;</p>' },
  {
    id: 'M12',
    markdown: 'https://e.com/@user/a_b*c',
    html: `<p>${anchor('https://e.com/@user/a_b*c', 'https://e.com/@user/a_b*c')}</p>`,
  },
  { id: 'M13', markdown: 'me@example.com `@scope/name`', html: '<p>me@example.com <code>@scope/name</code></p>' },
  { id: 'M14', markdown: '```js\na < b', html: '<pre><code>a &lt; b</code></pre>' },
  { id: 'S72', markdown: '[pay](javascript:alert(1))', html: '<p>pay</p>' },
  { id: 'AP-133', markdown: 'Ask @bob@far.example', html: '<p>Ask @bob@far.example</p>' },
  {
    id: 'AP-135',
    markdown: '# H\n\n![alt](https://e.example/a.png)\n\n> q\n\n---\n\nx',
    html: `<p><strong>H</strong></p><p>${anchor('https://e.example/a.png', 'alt')}</p><blockquote><p>q</p></blockquote><p>———</p><p>x</p>`,
  },
  {
    id: 'addresses that are not of the web',
    markdown: '[write](mailto:a@b.example) <tel:+491> <c@d.example>',
    html: '<p>write (a@b.example) tel:+491 c@d.example</p>',
  },
  {
    id: 'quotes in an address',
    markdown: '[x](<https://e.example/a" onclick="b c>)',
    html: `<p>${anchor('https://e.example/a%22%20onclick=%22b%20c', 'x')}</p>`,
  },
  {
    id: 'entities',
    markdown: '&lt;script&gt; @everyone <!channel>',
    html: '<p>&lt;script&gt; @everyone &lt;!channel&gt;</p>',
  },
  { id: 'overrides', markdown: 'a\u202eb\u2066c\r\nd', html: '<p>abc<br>d</p>' },
]

test.each(cases)('$id', ({ markdown, html }) => expect(note(markdown)).toBe(html))

describe('AP-134 a person who may be notified', () => {
  const root = parseMarkdown('Ask @ann@a.example, not @bob', { mayNotify: new Set(['@ann@a.example', '@bob']) })
  const html = (hrefOf: (name: string) => string | undefined) =>
    renderNoteThread(root, { hrefOf }).map((each) => each.html)

  test('is linked to their profile, and only where one is known', () => {
    expect(html((name) => (name === '@ann@a.example' ? 'https://a.example/@ann' : undefined))).toEqual([
      '<p>Ask <span class="h-card"><a class="u-url mention" href="https://a.example/@ann">@<span>ann@a.example</span></a></span>, not @bob</p>',
    ])
  })

  test.each(['javascript:alert(1)', 'mailto:a@b.example', '"><script>'])('is words where the profile is %s', (href) => {
    expect(html(() => href)).toEqual(['<p>Ask @ann@a.example, not @bob</p>'])
  })
})

describe('the length', () => {
  test.each([
    ['plain', 5],
    ['👩‍👩‍👧‍👦', 7],
    [`https://e.example/${'x'.repeat(100)}`, 23],
    ['http://a.b and more', 32],
    ['@bob@far.example hi', 7],
    ['me@example.com', 14],
  ])('of %j is %i', (text, length) => expect(noteLength(text)).toBe(length))

  test('of a post is what its readers see', () => {
    expect(renderNoteThread(parseMarkdown('**a** [b](https://long.example/address)\n\n- c'))[0]?.plainLength).toBe(
      'a b\n\n• c'.length,
    )
  })
})

describe('a thread', () => {
  const sentences = Array.from({ length: 30 }, (_, index) => `This is sentence number ${index} of them.`)

  test('is numbered at the end of each post, within the limit', () => {
    const notes = renderNoteThread(parseMarkdown(sentences.join(' ')))
    expect(notes).toHaveLength(3)
    notes.forEach(({ html, plainLength }, index) => {
      expect(plainLength).toBeLessThanOrEqual(500)
      expect(html.endsWith(` (${index + 1}/3)</p>`)).toBe(true)
    })
    const words = notes.map(({ html }) => readHtml(html).text.replace(/ \(\d\/3\)$/, '')).join(' ')
    expect(words).toBe(sentences.join(' '))
  })

  test('has its number below what is no paragraph', () => {
    const [first] = renderNoteThread(parseMarkdown(sentences.map((each) => `- ${each}`).join('\n')))
    expect(first?.html).toMatch(/<\/ul><p>\(1\/\d\)<\/p>$/)
  })

  test('of more than nine posts leaves room for two digits', () => {
    const notes = renderNoteThread(parseMarkdown(`${'word '.repeat(300)}`), { limit: 60 })
    expect(notes.length).toBeGreaterThan(9)
    expect(Math.max(...notes.map(({ plainLength }) => plainLength))).toBeLessThanOrEqual(60)
  })

  test('C06 goes on counting', () => {
    const notes = renderNoteThread(parseMarkdown(sentences.map((each, index) => `${index + 1}. ${each}`).join('\n')))
    const [first = '', second = ''] = notes.map(({ html }) => html)
    expect(second).toContain(`<ol start="${first.split('<li>').length}">`)
  })

  test.each([
    ['marks', '**"&** '.repeat(6000)],
    ['wide characters', '中文中文\n\n'.repeat(6000)],
  ])('AP-136 of 40 KB of %s stays under 60 KB each', (_, markdown) => {
    const notes = renderNoteThread(parseMarkdown(markdown), { limit: 50_000 })
    expect(notes.length).toBeGreaterThan(1)
    for (const { html } of notes) expect(new TextEncoder().encode(html).length).toBeLessThan(60_000)
  })

  test('C11 with a limit of one ends', () => {
    const text = renderNoteThread(parseMarkdown('# ab\n\n- c'), { limit: 1 }).map(({ html }) =>
      readHtml(html).text.replace(/\(.*/, '').trim(),
    )
    expect(text.join('')).toBe('abc')
  })

  test('C10 S77 of nothing is empty', () => expect(renderNoteThread(parseMarkdown(' \n\n '))).toEqual([]))
})
