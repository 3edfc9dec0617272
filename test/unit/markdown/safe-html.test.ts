// NM-18: HTML from outside becomes a safe subset, whatever it was.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { safeHtml } from '../../../src/markdown/index.ts'
import { scaled } from '../../setup/scale.ts'

describe('safe HTML', () => {
  test.each([
    { what: 'keeps what is allowed', html: '<p>Hi <b>you</b><br>there</p>', safe: '<p>Hi <b>you</b><br>there</p>' },
    { what: 'keeps lists', html: '<ul><li>a<li>b</ul>', safe: '<ul><li>a</li><li>b</li></ul>' },
    { what: 'drops a script with its text', html: 'a<script>alert(1)</script>b', safe: 'ab' },
    { what: 'drops an unclosed script to the end', html: 'a<script>alert(1) <b>x</b>', safe: 'a' },
    {
      what: 'drops styles, frames and pictures',
      html: '<style>p{}</style><iframe src=x>y</iframe><img src=x onerror=e()>z',
      safe: 'z',
    },
    { what: 'drops foreign documents', html: '<svg><a href="https://x.example"><text>t</text></a></svg>z', safe: 'z' },
    { what: 'drops handlers and styles', html: '<p onclick="e()" style="x" class=y>a</p>', safe: '<p>a</p>' },
    {
      what: 'drops comments and conditional comments',
      html: 'a<!-- <b>x</b> --><!--[if mso]><p>m</p><![endif]-->b',
      safe: 'ab',
    },
    { what: 'drops unknown tags, keeps their words apart', html: '<div>a</div><div>b</div>', safe: 'a\nb\n' },
    {
      what: 'keeps a link',
      html: '<a href="https://x.example/?a=1&amp;b=2" target=_top>x</a>',
      safe: '<a href="https://x.example/?a=1&amp;b=2">x</a>',
    },
    {
      what: 'keeps a mail link',
      html: '<a href="mailto:a@x.example">x</a>',
      safe: '<a href="mailto:a@x.example">x</a>',
    },
    { what: 'drops a script link', html: '<a href="javascript:alert(1)">x</a>', safe: 'x' },
    { what: 'drops a disguised script link', html: '<a href=" \u0001java\nscript&colon;alert(1)">x</a>', safe: 'x' },
    { what: 'drops a data link', html: '<a href="data:text/html,x">x</a>', safe: 'x' },
    { what: 'drops a relative link', html: '<a href="/admin">x</a>', safe: 'x' },
    { what: 'drops a link with a user name', html: '<a href="https://bank.example@evil.example/">x</a>', safe: 'x' },
    {
      what: 'cannot be broken out of by a quote',
      html: '<a href=\'https://x.example/"onmouseover="e()\'>x</a>',
      safe: '<a href="https://x.example/%22onmouseover=%22e()">x</a>',
    },
    {
      what: 'escapes decoded text',
      html: '&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; "',
      safe: '&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; &quot;',
    },
    { what: 'closes what was left open', html: '<p><b><i>x', safe: '<p><b><i>x</i></b></p>' },
    { what: 'puts crossed tags right', html: '<b><i>x</b>y</i>', safe: '<b><i>x</i></b>y' },
    { what: 'ignores a closing tag without its opening one', html: 'a</p></div></script>b', safe: 'a<p></p>b' },
    { what: 'passes an incomplete tag over', html: 'a<b', safe: 'a' },
    {
      what: 'is fooled by no split tag',
      html: '<scr<script>x</script>ipt>alert(1)</scr</script>ipt>',
      safe: 'xipt&gt;alert(1)ipt&gt;',
    },
    { what: 'gives nothing for nothing', html: '', safe: '' },
  ])('$what', ({ html, safe }) => {
    expect(safeHtml(html)).toBe(safe)
  })

  test('is the same when it is made safe again', () => {
    const once = safeHtml('<p>a &amp; b <a href="http://x.example">l</a><pre>\n x</pre><h2>t</h2>')
    expect(safeHtml(once)).toBe(once)
  })

  test.each([
    ['nested without end', '<b>'.repeat(400_000)],
    ['nested and never matched', `${'<b>'.repeat(100_000)}${'</i>'.repeat(100_000)}`],
    ['nested in dropped tags', '<div>'.repeat(200_000)],
    ['long', `<p>${'"'.repeat(1024 * 1024)}`],
    ['one long attribute', `<a href="https://x.example/${'a'.repeat(2 * 1024 * 1024)}">x`],
  ])('is bounded in size, depth and time: %s', (_, html) => {
    const started = performance.now()
    const safe = safeHtml(html)
    expect(performance.now() - started).toBeLessThan(10_000)
    expect(safe.length).toBeLessThanOrEqual(1024 * 1024)
    expect(safe.match(/<b>/g)?.length ?? 0).toBeLessThanOrEqual(32)
  })

  test('text survives being one large paragraph', () => {
    const words = 'word '.repeat(50_000)
    expect(safeHtml(`<p>${words}</p>`)).toBe(`<p>${words}</p>`)
  })

  test('whatever comes in, only allowed tags without handlers come out, and each is closed', () => {
    const bits = [
      '<',
      '>',
      '</',
      '/>',
      '"',
      "'",
      '=',
      ' ',
      '&lt;',
      '<!--',
      '-->',
      'script',
      'p',
      'b',
      'a href',
      'javascript:',
      'x',
      'svg',
      '<![CDATA[',
      'style',
      'onload',
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bits), { maxLength: 40 }), (parts) => {
        const safe = safeHtml(parts.join(''))
        expect(safe).not.toMatch(/<(?!\/?(?:p|b|a|br)\b)/)
        expect(safe.replace(/<a href="(?:https?|mailto):[^"<>]*">/g, '')).not.toMatch(/<[a-z]+[^a-z>]/)
        expect(unbalanced(safe)).toEqual([])
      }),
      { numRuns: scaled(500) },
    )
  })
})

function unbalanced(html: string): readonly string[] {
  const open: string[] = []
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z0-9]+)/g)) {
    if (name === 'br') continue
    if (slash === '') open.push(name)
    else if (open.pop() !== name) return [`</${name}>`]
  }
  return open
}
