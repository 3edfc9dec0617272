// Whatever comes in: an answer, soon, and no longer than asked for.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { htmlToText } from '../../../../src/markdown/index.ts'
import { cpuMs, isLinear } from '../../../doubles/linear-time.ts'
import { scaled } from '../../../setup/scale.ts'

const mebibyte = 1024 * 1024

describe('HTML without end', () => {
  const floods: readonly (readonly [string, (size: number) => string])[] = [
    ['tags nobody closes', (size) => '<div>'.repeat(size / 5)],
    ['formatting nobody closes', (size) => '<font color=red>'.repeat(size / 16)],
    ['hidden formatting nobody closes', (size) => '<p><b style="display:none">x</p>'.repeat(size / 32)],
    ['end tags', (size) => `${'<i>'.repeat(200)}<div>${'</span></p></b>'.repeat(size / 15)}`],
    ['lists in lists', (size) => '<ul><li>a'.repeat(size / 9)],
    ['quotes in quotes', (size) => '<blockquote>a<br>'.repeat(size / 17)],
    ['tables in tables', (size) => '<table><tr><td>a<td>b'.repeat(size / 21)],
    ['cells', (size) => `<table><tr>${'<td>a<td>'.repeat(size / 9)}`],
    ['attributes', (size) => `<p ${'a=b style=color:red '.repeat(size / 20)}>x`],
    ['one attribute', (size) => `<p style="${'a:b;/*'.repeat(size / 6)}">x`],
    ['escapes', (size) => `<p style="${'\\69'.repeat(size / 3)}">x`],
    ['entities', (size) => '&amp;'.repeat(size / 5)],
    ['broken entities', (size) => '&#x1&zzz'.repeat(size / 8)],
    ['angle brackets', (size) => '<'.repeat(size)],
    ['comments nobody closes', (size) => '<!--'.repeat(size / 4)],
    ['declarations', (size) => '<![if x]><!x><?x>'.repeat(size / 17)],
    ['scripts', (size) => '<script></scrip>'.repeat(size / 16)],
    ['white space', (size) => ' \n'.repeat(size / 2)],
    ['kept white space', (size) => `<pre>${' \n'.repeat(size / 2)}`],
    ['line breaks', (size) => '<br>'.repeat(size / 4)],
    ['links', (size) => '<a href="https://x.example">a'.repeat(size / 29)],
    ['one link', (size) => `<a href="https://x.example/${'a/'.repeat(size / 2)}">a</a>`],
    ['a long label', (size) => `<a href="https://x.example/">${'a <b>b</b>'.repeat(size / 10)}</a>`],
    ['joiners', (size) => '\u200d\u200c'.repeat(size / 2)],
    ['pictures', (size) => '<img alt="a">'.repeat(size / 13)],
  ]

  test.each(floods)('is read in time that grows with it: %s', { timeout: 60_000 }, (_, make) => {
    const [half, whole] = [make(mebibyte / 4), make(mebibyte / 2)]
    expect(htmlToText(make(mebibyte)).length).toBeLessThanOrEqual(mebibyte)
    expect(
      isLinear(
        () => htmlToText(half),
        () => htmlToText(whole),
      ),
    ).toBe(true)
  })

  test('is read to the end of one mebibyte and no further', () => {
    const text = htmlToText(`<p>${'a '.repeat(mebibyte / 2)}</p><p>never</p>`)
    expect(text.length).toBeLessThanOrEqual(mebibyte)
    expect(text).not.toContain('never')
  })

  test('keeps its words below the depth that is followed', () => {
    expect(htmlToText(`${'<div>'.repeat(100_000)}deep`)).toBe('deep')
  })

  test('AP-095: 5,000 nested tags, scripts and handlers take less than 50 ms', () => {
    const html = `${'<div onclick="e()"><script>x</script>'.repeat(5_000)}<a href="javascript:e()">seen</a>`
    expect(htmlToText(html)).toBe('seen')
    expect(Math.min(...[1, 2, 3, 4, 5].map(() => cpuMs(() => htmlToText(html))))).toBeLessThan(50)
  })
})

describe('whatever comes in', () => {
  const bits =
    '< > </ /> " \' = & &lt; &#0; &#xd800; <!-- --> <![CDATA[ <p> </p> <td> <tr> <table> </table> <li> <a href= <pre> <br> hidden style= display:none ; : x y'
  const soup = fc.array(fc.oneof(fc.constantFrom(...bits.split(' '), ' ', '\n'), fc.string({ unit: 'binary' })), {
    maxLength: 60,
  })

  test('gives well-formed text without controls, within the length', () => {
    fc.assert(
      fc.property(soup, fc.integer({ min: 0, max: 200 }), (parts, maxLength) => {
        const text = htmlToText(parts.join(''), { maxLength })
        expect(text.length).toBeLessThanOrEqual(maxLength)
        expect(text.isWellFormed()).toBe(true)
        expect(text).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u202a-\u202e\u2066-\u2069\u200b]/)
        expect(text).toBe(text.trim())
      }),
      { numRuns: scaled(1_000) },
    )
  })

  test('reads no text out of a closing tag that never ends', () => {
    expect(['</x \u{10000}', 'a</x bc'].map((html) => htmlToText(html))).toEqual(['', 'a'])
  })

  test('reads markup that was escaped as words, once', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bits.split(' ')), { maxLength: 20 }), (parts) => {
        const words = parts.join(' ')
        const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
        expect(htmlToText(`<p>${escaped}</p>`)).toBe(words.trim())
      }),
    )
  })

  test('loses no visible word, in order', () => {
    const tags = [
      'p',
      'div',
      'b',
      'span',
      'ul',
      'li',
      'td',
      'tr',
      'table',
      'blockquote',
      'pre',
      'a',
      'h1',
      'dt',
      'center',
    ]
    const token = fc.oneof(
      fc.constantFrom(...tags).map((tag) => `<${tag}>`),
      fc.constantFrom(...tags).map((tag) => `</${tag}>`),
      fc.constantFrom('<br>', '<hr>', '<img>'),
      fc.nat({ max: 999 }).map((n) => ` w${n} `),
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 80 }), (tokens) => {
        const html = tokens.join('')
        expect(htmlToText(html).match(/w\d+/g) ?? []).toEqual(html.match(/w\d+/g) ?? [])
      }),
      { numRuns: scaled(1_000) },
    )
  })

  test('loses words below a hidden element only, and all of them', () => {
    const block = fc.record({
      isHidden: fc.boolean(),
      word: fc.nat({ max: 999 }),
      tag: fc.constantFrom('p', 'div', 'span', 'b'),
    })
    fc.assert(
      fc.property(fc.array(block, { maxLength: 30 }), (blocks) => {
        const html = blocks
          .map(({ isHidden, word, tag }) => `<${tag}${isHidden ? ' hidden' : ''}>w${word}</${tag}>`)
          .join(' ')
        const shown = blocks.filter(({ isHidden }) => !isHidden).map(({ word }) => `w${word}`)
        expect(htmlToText(html).match(/w\d+/g) ?? []).toEqual(shown)
      }),
    )
  })
})
