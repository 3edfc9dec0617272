// Markup that wants something else than to be read. Each is one answer of a model that was talked into it.

export type Attack = { readonly what: string; readonly markdown: string }

const scripts = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  'java&#10;script:alert(1)',
  'javascript&colon;alert(1)',
  '&#106;avascript:alert(1)',
  '&#x6A;avascript&#x3A;alert(1)',
  'javascript://x.example/%0aalert(1)',
  '\u0001javascript:alert(1)',
  'vbscript:msgbox(1)',
  'data:text/html,<script>alert(1)</script>',
  'DATA:text/html;base64,PHNjcmlwdD4=',
  'file:///etc/passwd',
  'blob:https://x.example/1',
  'view-source:https://x.example',
  'intent://x#Intent;end',
  'tg://user?id=1',
  'tg://resolve?domain=x',
  'slack://user?team=T1&id=U1',
  'about:blank',
  'ws://x.example',
  '//x.example/protocol-relative',
  '/admin',
  '\\\\x.example\\share',
  'https://bank.example@evil.example/',
  'https:///javascript:alert(1)',
  'mailto:a@x.example%0D%0ABcc:b@x.example',
  'mailto:a@x.example?bcc=b@x.example%0d%0aX:%20y',
  'tel:+1;ext=<script>',
]

function linkAttacks(url: string): readonly Attack[] {
  const shown = JSON.stringify(url)
  return [
    { what: `a link to ${shown}`, markdown: `[x](${url}) and [y](<${url}>)` },
    { what: `an automatic link to ${shown}`, markdown: `<${url}> ${url}` },
    { what: `a reference to ${shown}`, markdown: `[x][r] ![i][r]\n\n[r]: ${url} "t"` },
    { what: `a picture from ${shown}`, markdown: `![x](${url} "t")` },
  ]
}

const calls = [
  '<!channel>',
  '<!here|here>',
  '<!everyone>',
  '<!subteam^S012345>',
  '<!date^1392734382^{date}^https://evil.example|x>',
  '<@U012345>',
  '<@U012345|bob>',
  '<#C012345|general>',
  '@everyone @here @channel',
  '@alice @bob_smith @Alice_2',
  '/start /delete_all /ban@some_bot x',
  '@user@social.example',
  '&lt;!channel&gt; &#60;!channel&#62;',
  '\\<!channel> <\\!channel> <!channel\\>',
  '<!chan**nel**> <*!channel*>',
  '`<!channel>` ``@everyone``',
  '[<!channel>](https://x.example) [@everyone](https://x.example)',
  '> <!channel>\n\n- @everyone\n\n| <!here> | @here |\n|---|---|\n| <@U1> | x |',
  '```\n<!channel> @everyone\n```',
  '# <!channel> @everyone',
  'https://x.example/<!channel> https://x.example/|<!channel>',
  '[a|<!channel>](https://x.example/a|b>c)',
]

const markup = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg onload=alert(1)><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  '<a href="javascript:alert(1)" onclick="alert(1)">x</a>',
  '<iframe src="https://evil.example"></iframe>',
  '<b>bold</b><style>*{display:none}</style>',
  '</code></pre></p></blockquote></td></table></body></html><h1>out</h1>',
  '"><script>alert(1)</script><a x="',
  '&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;script&amp;gt;',
  '[x](https://x.example/"onmouseover="alert(1))',
  '[x](<https://x.example/" onmouseover="alert(1)>)',
  "[x](https://x.example/'onmouseover='alert(1))",
  '![x"onerror="alert(1)](https://x.example/i.png)',
  '```"><script>alert(1)</script>\nx\n```',
  '```js onload=alert(1)\n</pre><script>alert(1)</script>\n```',
  '<!-- --><![CDATA[<script>]]><?php x ?><!DOCTYPE x>',
  '<details open ontoggle=alert(1)>',
  '<math><mtext></mtext></math>',
  '<tg-spoiler>x</tg-spoiler><a href="tg://user?id=1">x</a><tg-emoji emoji-id="1">x</tg-emoji>',
  '<span class="h-card"><a href="https://x.example/@a" class="u-url mention">@a</a></span>',
]

const characters = [
  'bidi \u202etxt.exe\u202c and \u2066isolated\u2069 and \u202dleft\u202c',
  'nul \u0000 bell \u0007 escape \u001b[31m delete \u007f c1 \u0085\u009b',
  'lone \ud800 and \udc00 and \udfff\ud800',
  `many marks a${'\u0301'.repeat(500)}b`,
  'zero\u200bwidth\u200cjoin\u200der\u2060s\ufeff',
  'tags \u{e0049}\u{e0067} and selectors \ufe00\ufe01',
  'lines\u2028and\u2029paragraphs\u0085\u000b\u000c',
  'carriage\rreturn\r\nand\n\rmixed',
]

const lines = [
  'Bcc: everybody@x.example\r\nSubject: new\r\n\r\nbody',
  'Content-Type: text/html\n\n<script>',
  'From root\nFrom nobody Mon Jan 1\n.\nQUIT\n',
  '--boundary--\n\n--=_Part_1',
  '=?utf-8?q?=0d=0aBcc:x?=',
  'begin 644 x.exe\n`\nend',
  'event: done\ndata: {"x":1}\n\n',
  '}}{{x}} %s %n {0} #{x} <%= x %>',
]

export const attacks: readonly Attack[] = [
  ...scripts.flatMap(linkAttacks),
  ...[...calls, ...markup, ...characters, ...lines].map((markdown) => ({ what: JSON.stringify(markdown), markdown })),
]

type Flood = { readonly what: string; readonly make: (size: number) => string }

function floodOf(bit: string): Flood {
  return { what: JSON.stringify(bit), make: (size) => bit.repeat(Math.ceil(size / bit.length)) }
}

/** Markup without end, `size` characters of it: what parsers have been slow on. */
const slowBits = [
  '*',
  '_',
  '[',
  '`',
  '~',
  '>',
  '<',
  '|',
  '#',
  '&',
  '\\',
  '**a',
  '*a **b ',
  '[a](',
  '![a](',
  '- ',
  '> ',
  '`a',
  '<a',
  '<!',
  '@a ',
  '- a\n',
  '[a]: b\n',
  '[^1]',
  '```\n',
  '|a|b|\n|-|-|\n',
  'https://x.example/',
  '🎉',
]
const otherBits = [
  '(',
  '!',
  '@',
  '$',
  '_a_',
  '](x)',
  '1. ',
  '&amp;',
  '| a ',
  '\n',
  ' ',
  '\t',
  '**a** ',
  '\u0301',
  'a@b.example ',
  '<!channel> ',
  'a',
  'a ',
  '\u202e',
  'http://',
  '.',
]

const deepFloods: readonly Flood[] = [
  { what: 'quotes in quotes', make: (size) => `${'> '.repeat(size / 2 - 2)}deep` },
  { what: 'brackets in brackets', make: (size) => `${'['.repeat(size / 2)}${']'.repeat(size / 2)}` },
  {
    what: 'lists in lists',
    make: (size) => Array.from({ length: Math.sqrt(size) }, (_, at) => `${' '.repeat(at * 2)}- a`).join('\n'),
  },
  { what: 'marks in marks', make: (size) => `${'*_'.repeat(size / 4)}a${'_*'.repeat(size / 4)}` },
  {
    what: 'parentheses of an address',
    make: (size) => `[a](https://x.example/${'('.repeat(size / 2)}${')'.repeat(size / 2)}`,
  },
  {
    what: 'columns',
    make: (size) => `|${'a|'.repeat(size / 6)}\n|${'-|'.repeat(size / 6)}\n|${'b|'.repeat(size / 6)}`,
  },
  { what: 'a long cell', make: (size) => `|a|b|\n|-|-|\n|${'c '.repeat(size / 2)}|d|` },
  { what: 'a long code line', make: (size) => `\`\`\`\n${'0'.repeat(size)}` },
  { what: 'a bold that is never closed', make: (size) => `**${'word '.repeat(size / 5)}` },
]

export const slowFloods: readonly Flood[] = [...slowBits.map(floodOf), ...deepFloods]
export const floods: readonly Flood[] = [...slowFloods, ...otherBits.map(floodOf)]
