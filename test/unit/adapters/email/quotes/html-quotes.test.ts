// Pages of mail programs: their own markup says where the mail that is answered begins, in any language.
import { describe, expect, test } from 'vitest'
import { parseMailBody } from '../../../../../adapters/email/mime/parse-body.ts'

async function read(markup: string) {
  const head = 'Content-Type: text/html; charset=utf-8\r\n\r\n'
  return await parseMailBody(new TextEncoder().encode(`${head}${markup}`), { bodyStart: head.length })
}

const asked = '<div>Shall we meet on Thursday?</div><div>Ann</div>'
const replies: readonly (readonly [program: string, markup: string])[] = [
  [
    'Gmail',
    `<div dir="ltr">Yes, gladly.</div><br><div class="gmail_quote"><div class="gmail_attr">Tue 5 zzz Ann &lt;ann@x.example&gt; zzz:<br></div><blockquote class="gmail_quote">${asked}</blockquote></div>`,
  ],
  [
    'Outlook on the web',
    `<div>Yes, gladly.</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>Zzz:</b> Ann<br><b>Qqq:</b> Tuesday</div>${asked}`,
  ],
  [
    'Outlook, whose ids were rewritten on the way',
    `<div>Yes, gladly.</div><div id="x_divRplyFwdMsg"><b>Zzz:</b> Ann</div>${asked}`,
  ],
  [
    'Outlook for Windows',
    `<p class="MsoNormal">Yes, gladly.</p><div style="border-top:solid #E1E1E1 1.0pt"><p class="MsoNormal"><b>From:</b> Ann &lt;ann@x.example&gt;<br><b>Sent:</b> Tuesday<br><b>To:</b> Bob<br><b>Subject:</b> Thursday</p></div>${asked}`,
  ],
  [
    'Thunderbird',
    `<p>Yes, gladly.</p><div class="moz-cite-prefix">Zz 05.03.24 qq 09:12 zzz Ann:<br></div><blockquote type="cite" cite="mid:1@x.example">${asked}</blockquote>`,
  ],
  [
    'Yahoo',
    `<div>Yes, gladly.</div><div id="yahoo_quoted_1" class="yahoo_quoted"><div>Zzz Tuesday, Ann zzz:</div><div>${asked}</div></div>`,
  ],
  [
    'Apple Mail',
    `<div>Yes, gladly.</div><br><blockquote type="cite"><div>On 5 Mar 2024, at 09:12, Ann wrote:</div>${asked}</blockquote>`,
  ],
  [
    'Proton Mail',
    `<div>Yes, gladly.</div><div class="protonmail_quote">Zzz Ann:<blockquote>${asked}</blockquote></div>`,
  ],
]

describe('a page', () => {
  test.each(replies)('of %s is read without the mail it answers, which is kept beside it', async (_, markup) => {
    const body = await read(markup)
    expect(body).toMatchObject({ text: 'Yes, gladly.' })
    expect('whole' in body ? body.whole : '').toContain('Shall we meet on Thursday?')
  })

  test('whose author answers inside of the quote keeps the answers', async () => {
    const markup =
      '<div class="gmail_quote"><div>On Tue, 5 Mar 2024 at 09:12, Ann &lt;ann@x.example&gt; wrote:</div><blockquote>Shall we?</blockquote><div>Yes.</div><blockquote>Where?</blockquote><div>Here.</div><blockquote>Ann</blockquote></div>'
    expect(await read(markup)).toMatchObject({ text: '> Shall we?\n\nYes.\n\n> Where?\n\nHere.' })
  })

  test('that hands a mail on keeps it', async () => {
    const markup = `<div>What do you think?</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>From: Ann</div>${asked}</div>`
    expect(await read(markup)).toMatchObject({
      text: 'What do you think?\n---------- Forwarded message ---------\nFrom: Ann\nShall we meet on Thursday?\nAnn',
    })
  })

  test('that is nothing but a quote stays as it is', async () => {
    expect(await read(`<div class="yahoo_quoted">${asked}</div>`)).toMatchObject({
      text: 'Shall we meet on Thursday?\nAnn',
    })
  })

  test('cannot bring a mark of its own', async () => {
    expect(await read('<p>One&#1;</p><p>\u0001</p><p>Two</p>')).toMatchObject({ text: 'One\n\nTwo' })
  })
})
