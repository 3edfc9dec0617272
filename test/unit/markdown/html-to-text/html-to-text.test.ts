// HTML of mails and posts as the text a reader would see.
import { describe, expect, test } from 'vitest'
import { htmlToText } from '../../../../src/markdown/index.ts'

describe('HTML as text', () => {
  test.each([
    { what: 'gives nothing for nothing', html: '', text: '' },
    { what: 'leaves plain text alone', html: 'just words', text: 'just words' },
    { what: 'puts paragraphs apart', html: '<p>one</p><p>two</p>', text: 'one\n\ntwo' },
    { what: 'puts divisions on lines', html: '<div>one</div><div>two</div>', text: 'one\ntwo' },
    {
      what: 'reads an empty division as a blank line',
      html: '<div>a</div><div><br></div><div>b</div>',
      text: 'a\n\nb',
    },
    { what: 'breaks lines where it is told to', html: 'a<br>b<br/>c<br><br><br><br>d', text: 'a\nb\nc\n\nd' },
    { what: 'makes white space one space', html: ' a \n\t b&nbsp;&nbsp; c ', text: 'a b c' },
    { what: 'keeps words of inline tags together', html: 'un<b>believ</b>able', text: 'unbelievable' },
    { what: 'keeps a space around inline tags', html: 'a <b> b </b> c', text: 'a b c' },
    {
      what: 'decodes once',
      html: '&amp;lt;b&amp;gt; &lt;i&gt; &#65;&#x42; &copy; &unknown;',
      text: '&lt;b&gt; <i> AB © &unknown;',
    },
    { what: 'shows headings as paragraphs', html: '<h1>Title</h1>text', text: 'Title\n\ntext' },
    { what: 'writes a rule', html: 'a<hr>b', text: 'a\n\n---\n\nb' },
    { what: 'keeps preformatted text', html: '<pre>\n  a\n\n    b\tc\n</pre>end', text: 'a\n\n    b\tc\n\nend' },
    { what: 'keeps lines that a style keeps', html: '<div style="white-space:pre-wrap">a\n  b</div>', text: 'a\n  b' },
    { what: 'closes paragraphs nobody closed', html: '<p>a<p>b<div>c', text: 'a\n\nb\n\nc' },
    { what: 'passes over tags it does not know', html: '<o:p>a</o:p><custom-thing>b</custom-thing>', text: 'ab' },
    { what: 'passes over an incomplete tag', html: 'a <b', text: 'a' },
    { what: 'reads a lone angle bracket as text', html: '1 < 2 and 3 > 2', text: '1 < 2 and 3 > 2' },
  ])('$what', ({ html, text }) => expect(htmlToText(html)).toBe(text))

  test.each([
    { what: 'bullets', html: '<ul><li>a</li><li>b</li></ul>', text: '- a\n- b' },
    { what: 'numbers', html: '<ol start="7"><li>a<li>b<li value=20>c<li>d</ol>', text: '7. a\n8. b\n20. c\n21. d' },
    {
      what: 'items that are paragraphs',
      html: '<ul><li><p>a</p></li><li><p>b</p><p>c</p></li></ul>',
      text: '- a\n- b\n\n  c',
    },
    {
      what: 'lists in lists',
      html: '<p>Do:</p><ol><li>one<ul><li>x</li><li>y</li></ul></li><li>two</li></ol><p>End</p>',
      text: 'Do:\n\n1. one\n   - x\n   - y\n2. two\n\nEnd',
    },
    { what: 'items outside of a list', html: '<li>a<li>b', text: '- a\n- b' },
    { what: 'empty items', html: '<ul><li></li><li>b</li></ul>', text: '- b' },
    { what: 'terms', html: '<dl><dt>a<dd>b<dt>c<dd>d</dl>', text: 'a\nb\nc\nd' },
    { what: 'quotes', html: 'a<blockquote><p>b</p><p>c</p></blockquote>d', text: 'a\n\n> b\n>\n> c\n\nd' },
    {
      what: 'quotes in quotes',
      html: '<blockquote>a<blockquote>b</blockquote>c</blockquote>',
      text: '> a\n>\n> > b\n>\n> c',
    },
    { what: 'a list in a quote', html: '<blockquote><ul><li>a<li>b</ul></blockquote>', text: '> - a\n> - b' },
    {
      what: 'tables',
      html: '<table><tr><th>Item<th>Price</tr><tr><td>Tea</td><td>3</td></tr><tr><td><p>Cake</p></td><td><p>4</p></td></tr></table>',
      text: 'Item | Price\nTea | 3\nCake | 4',
    },
    { what: 'empty cells between others', html: '<table><tr><td>a<td><td>c</table>', text: 'a | | c' },
    {
      what: 'cells of layout',
      html: '<table><tr><td>&nbsp;<td><div>a</div></tr><tr><td><td>b<td></table>',
      text: 'a\nb',
    },
    {
      what: 'tables in tables',
      html: '<table><tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table></td></tr><tr><td>e</td></tr></table>',
      text: 'a | b\nc | d\n\ne',
    },
    { what: 'a list in a cell', html: '<table><tr><td>a<td><ul><li>x<li>y</ul></table>', text: 'a\n- x\n- y' },
    { what: 'cells outside of a table', html: 'a<td><p>b', text: 'a\n\nb' },
  ])('lays out $what', ({ html, text }) => expect(htmlToText(html)).toBe(text))

  test.each([
    { html: '<a href="https://x.example/a">here</a>.', text: 'here (https://x.example/a).' },
    { html: '<a href="https://x.example/">https://x.example</a>', text: 'https://x.example' },
    { html: '<a href="https://www.x.example/">x.example</a>', text: 'x.example' },
    {
      html: '<a href="https://evil.example/">https://bank.example</a>',
      text: 'https://bank.example (https://evil.example/)',
    },
    { html: '<a href="https://bank.example@evil.example/">bank</a>', text: 'bank (https://evil.example/)' },
    { html: '<a href="https://аpple.example/">apple</a>', text: 'apple (https://xn--pple-43d.example/)' },
    { html: '<a href="mailto:a@x.example">a@x.example</a>', text: 'a@x.example' },
    {
      html: '<a href="mailto:b@x.example?subject=s&amp;bcc=c@x.example">a@x.example</a>',
      text: 'a@x.example (mailto:b@x.example)',
    },
    { html: '<a href="tel:+123">+1 23</a>', text: '+1 23' },
    { html: '<a href="javascript:alert(1)">x</a><a href="data:text/html,y">y</a><a href="/z">z</a>', text: 'xyz' },
    { html: '<a href="https://x.example/pixel"></a>a', text: 'a' },
    { html: '<a href="https://x.example/"><div>block</div></a>after', text: 'block (https://x.example/)\nafter' },
    { html: '<a href="https://x.example/"><img alt="Shop" src=s></a>', text: '[image: Shop] (https://x.example/)' },
    {
      html: '<a href="https://a.example/">a <a href="https://b.example/">b</a>',
      text: 'a (https://a.example/) b (https://b.example/)',
    },
  ])('shows where links go: $html', ({ html, text }) => expect(htmlToText(html)).toBe(text))

  test.each([
    { html: '<img alt="A  red\ncar" src=x>', text: '[image: A red car]' },
    { html: '<img src=x><img alt="" src=y>', text: '' },
    { html: '<img alt=t width=1 height=1><img alt=t style="display:none"><img alt=t aria-hidden=true>', text: '' },
    { html: 'hi <img class="emoji" alt=":blobcat:" src=x> <img alt="🎉">', text: 'hi :blobcat: 🎉' },
  ])('names pictures: $html', ({ html, text }) => expect(htmlToText(html)).toBe(text))

  test.each([
    {
      html: '<p>so <math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>1</mn></math>, then</p>',
      text: 'so x^2+1, then',
    },
    {
      html: '<math> <mfrac> <mrow> <mi>a</mi> <mo>+</mo> <mi>b</mi> </mrow> <mn>2</mn> </mfrac> </math>',
      text: '( a + b)/2',
    },
    {
      html: '<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><msqrt><mi>y</mi></msqrt></math>',
      text: 'x_i^2√(y)',
    },
    {
      html: '<math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd></mtr></mtable></math>',
      text: '1, 0; 0',
    },
    { html: '<math><mroot><mi>x</mi><mn>3</mn></mroot>', text: 'x^1/3' },
    {
      html: '<math><a href="https://evil.example/">good.example</a><p>one</p><p>two',
      text: 'good.example (https://evil.example/)\n\none\n\ntwo',
    },
  ])('writes formulas in a line: $html', ({ html, text }) => expect(htmlToText(html)).toBe(text))

  test('cuts at the length it is given, between characters', () => {
    expect(htmlToText('<p>aaa</p><p>😀😀</p>', { maxLength: 6 })).toBe('aaa')
    expect(htmlToText('<p>aaa</p><p>😀😀</p>', { maxLength: 8 })).toBe('aaa\n\n😀')
  })
})

describe('a post of the fediverse as text', () => {
  test.each([
    {
      what: 'shows an address that is shortened once, as a whole',
      html: '<p>See <a href="https://news.example/2026/11/a-very-long-title" rel="nofollow"><span class="invisible">https://</span><span class="ellipsis">news.example/2026/11/a-ve</span><span class="invisible">ry-long-title</span></a></p>',
      text: 'See https://news.example/2026/11/a-very-long-title',
    },
    {
      what: 'shows what a shortened address says where it goes elsewhere',
      html: '<a href="https://evil.example/2026/11/a-very-long-title"><span class="ellipsis">news.example/2026/11/a-ve</span></a> <a href="https://news.example.evil.example/a"><span class="ellipsis">news.example</span></a>',
      text: 'news.example/2026/11/a-ve… (https://evil.example/2026/11/a-very-long-title) news.example… (https://news.example.evil.example/a)',
    },
    {
      what: 'goes on behind a shortened address on its line',
      html: '<ul><li>one<br><a href="https://news.example/a/b"><span class="invisible">https://</span><span class="ellipsis">news.example/a</span></a>, two</li><li>three</li></ul>',
      text: '- one\n  https://news.example/a/b, two\n- three',
    },
    {
      what: 'shows a short address once',
      html: '<a href="https://news.example/a"><span class="invisible">https://</span><span class="">news.example/a</span><span class="invisible"></span></a>',
      text: 'news.example/a',
    },
    {
      what: 'says of which server a mention is',
      html: '<p><span class="h-card"><a href="https://social.example/@alice" class="u-url mention">@<span>alice</span></a></span> hello</p>',
      text: '@alice@social.example hello',
    },
    {
      what: 'shows a mention that names its server once',
      html: '<a class="mention" href="https://social.example/users/alice">@alice@social.example</a>',
      text: '@alice@social.example',
    },
    {
      what: 'shows both servers of a mention that lies',
      html: '<a class="mention" href="https://evil.example/@alice">@alice@bank.example</a>',
      text: '@alice@bank.example (https://evil.example/@alice)',
    },
    {
      what: 'shows a tag as a word',
      html: '<a href="https://social.example/tags/cats" class="mention hashtag" rel="tag">#<span>cats</span></a>',
      text: '#cats',
    },
    {
      what: 'shows where a link goes that only claims to be a tag',
      html: '<a href="https://evil.example/" class="hashtag">bank.example</a>',
      text: 'bank.example (https://evil.example/)',
    },
  ])('$what', ({ html, text }) => expect(htmlToText(html)).toBe(text))
})

describe('HTML as text, for whoever knows what its maker means', () => {
  test('has a line where an element begins that is asked for, and none for one that nobody sees', () => {
    const html = 'a<div id="q" class="x">b</div><div id="q" style="display:none">c</div>'
    const mark = (_: string, attributes: ReadonlyMap<string, string>) =>
      attributes.get('id') === 'q' ? '*' : undefined
    expect(htmlToText(html, { mark })).toBe('a\n*\nb')
  })

  test('tells that words were left out, and only then', () => {
    const hidden: string[] = []
    const read = (html: string) => htmlToText(html, { onHidden: () => hidden.push(html) })
    read('<p>seen</p><p style="display:none"> </p><style>p{}</style><!-- no -->')
    expect(hidden).toEqual([])
    read('<p style="display:none">unseen</p>')
    expect(hidden).toHaveLength(1)
  })
})
