// A reply as one mail: to whom it goes, what it says in both halves, what it quotes, and which files go along.

import { describe, expect, test } from 'vitest'
import { renderMailReply, replySubject, subjectWithoutReplyMarks } from '../../../../../adapters/email/render/reply.ts'
import type { NormalizedResponse } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { question, replyOf, replyTo, storedFile, threadKey } from '../../../../doubles/mailer-deps.ts'
import { emailSay } from '../../../../doubles/say.ts'

function render(reply: NormalizedResponse, more: JsonObject = {}, mayNotify: readonly string[] = []) {
  const [only, ...rest] = renderMailReply(emailSay, reply, { ...replyTo, ...more }, new Set(mayNotify))
  if (only === undefined || rest.length > 0) return expect.unreachable('one reply is one mail')
  return only.call
}

describe('where a reply goes', () => {
  test('to the authenticated sender alone, from the address that was written to', () => {
    const { from, to, cc, thread, hop } = render(replyOf('Hello'))
    expect({ from, to, cc, thread, hop }).toEqual({
      from: { name: 'helper', address: 'helper@agents.example' },
      to: [{ name: 'Ann', address: 'ann@example.org' }],
      cc: [],
      thread: threadKey,
      hop: 1,
    })
  })

  test('from the agent by its label, on one line, and by its name where it has none', () => {
    const from = (label: string | undefined) =>
      renderMailReply(emailSay, replyOf('x'), replyTo, new Set(), () => label)[0]?.call.from.name
    expect(from('Häl "p" er')).toBe('Häl "p" er')
    expect(from('Helper\r\nBcc: eve@example.org')).not.toMatch(/[\r\n]/)
    expect([from(undefined), from(' \u202e')]).toEqual(['helper', 'helper'])
  })

  test('copies go to those whom the policy lets a reply reach: a sibling by its name, a person as they write themselves', () => {
    const { cc } = render(replyOf('@researcher and @bob@example.org, look'), {}, ['@researcher', '@bob@example.org'])
    expect(cc).toEqual([
      { name: '', address: 'researcher@agents.example' },
      { name: 'Bob', address: 'Bob@example.org' },
    ])
  })

  test('a name that the policy does not list reaches nobody', () => {
    expect(render(replyOf('@bob@example.org, look')).cc).toEqual([])
  })

  test('neither the sender nor the agent is copied', () => {
    expect(render(replyOf('x'), {}, ['@ann@example.org', '@helper']).cc).toEqual([])
  })

  test.each(['bob@x\r\nRCPT TO:<z@e.example>', '"a b"@example.org', 'a@b@example.org', 'ann', 'ann@[127.0.0.1]', ''])(
    'EM-136: %j is no address to answer to',
    (address) => {
      expect(() => render(replyOf('Hello'), { address })).toThrow(/plain address/)
    },
  )
})

describe('what it says', () => {
  test('both halves come of the same Markdown, and markup of others is words', () => {
    const { text, html } = render(replyOf('**Bold** [docs](https://e.example/) </body><script>alert(1)</script>'))
    expect(text).toBe('*Bold* docs [1] </body><script>alert(1)</script>\n\n[1] https://e.example/')
    expect(html).toContain('<strong>Bold</strong>')
    expect(html).not.toContain('<script>')
    expect(html.match(/<\/body>/g)).toHaveLength(1)
  })

  test('the last mail is quoted in both halves', () => {
    const { quote } = render(replyOf('Hello'))
    expect(quote?.text).toBe('On 2026-11-17 11:00 UTC, Ann wrote:\n> What is the plan?\n>> older')
    expect(quote?.html).toMatch(/<blockquote[^>]*>.*What is the plan\?/)
  })

  test('of a long mail forty lines are quoted, and it says that there was more', () => {
    const text = Array.from({ length: 60 }, (_, at) => `line ${at} <b>`).join('\n')
    const { quote } = render(replyOf('Hello'), { reply_to_quote: { author: 'Ann', date: null, text } })
    expect(quote?.text.split('\n').slice(-2)).toEqual(['> line 39 <b>', '> […]'])
    expect(quote?.html).toContain('line 39 &lt;b&gt;')
    expect(quote?.html).not.toContain('line 40')
  })

  test('nothing is quoted where there is nothing', () => {
    expect(render(replyOf('Hello'), { reply_to_quote: null }).quote).toBeNull()
  })
})

describe('the subject', () => {
  test.each([
    ['AW: Re: WG: 回复: Foo', 'Foo'],
    ['Re[2]: Fwd : [list] Foo', '[list] Foo'],
    ['Rex: the king', 'Rex: the king'],
    ['R: RIF: ciao', 'ciao'],
    ['RE：你好', '你好'],
  ])('EM-116: %j is about %j', (subject, base) => {
    expect(subjectWithoutReplyMarks(subject)).toBe(base)
  })

  test.each([
    ['Re: The plan', 'Re: The plan'],
    ['', 'Re: (no subject)'],
    ['a\r\nBcc: evil@e.example', 'Re: a Bcc: evil@e.example'],
    ['x'.repeat(400), `Re: ${'x'.repeat(195)}…`],
  ])('of an answer to %j', (subject, expected) => {
    expect(replySubject(emailSay, subject)).toBe(expected)
    expect(replySubject(emailSay, subject).length).toBeLessThanOrEqual(200)
  })
})

describe('references', () => {
  test('are theirs and the mail that is answered', () => {
    const { in_reply_to, references } = render(replyOf('Hello'))
    expect(in_reply_to).toBe('m2@example.org')
    expect(references).toEqual(['m0@example.org', 'm1@example.org', 'm2@example.org'])
  })

  test('EM-134: of a long chain the first and the latest twenty are kept, and nothing that is no id', () => {
    const ids = Array.from({ length: 50 }, (_, at) => `m${at}@example.org`)
    const { references } = render(replyOf('x'), {
      reply_to_references: ['a b@c', '<x@y>', ...ids],
      reply_to_id: 'last@example.org',
    })
    expect(references).toHaveLength(20)
    expect([references[0], references[1], references.at(-1)]).toEqual([
      'm0@example.org',
      'm32@example.org',
      'last@example.org',
    ])
  })
})

describe('files', () => {
  const id = '0190a000-0000-7000-8000-000000000001'

  test('that are kept go along by their id and are not named in the words', () => {
    const call = render(
      replyOf('Here.', { parts: [...replyOf('Here.').parts, storedFile(id, 'a.pdf', 'application/pdf', 9)] }),
    )
    expect(call.files).toEqual([{ id, name: 'a.pdf', mime: 'application/pdf' }])
    expect(call.text).toBe('Here.')
  })

  test('a reply of files alone says so', () => {
    expect(render(replyOf('', { parts: [storedFile(id, 'a.pdf', 'application/pdf', 9)] })).text).toBe(
      'See the attached files.',
    )
  })

  test('that are not kept are named', () => {
    const { attachment: _none, ...part } = storedFile(id, 'a.pdf', 'application/pdf', 12_000)
    const call = render(replyOf('', { parts: [part] }))
    expect(call.files).toEqual([])
    expect(call.text).toBe('[file: a.pdf, 12 KB]')
  })

  test('a picture that the words refer to stands in them, and is words for whoever sees words', () => {
    const parts = [
      ...replyOf('See ![a "chart" & more](chart.png), `![x](chart.png)`').parts,
      storedFile(id, 'chart.png', 'image/png', 9),
    ]
    const call = render(replyOf('', { parts }))
    const cid = `picture0.${id}@parley.invalid`
    expect(call.files).toEqual([{ id, name: 'chart.png', mime: 'image/png', cid }])
    expect(call.html).toContain(`<img src="cid:${cid}" alt="a &quot;chart&quot; &amp; more"`)
    expect(call.html).toContain('![x](chart.png)')
    expect(call.text).toContain('See [picture: a "chart" & more]')
    expect(call.text).toContain('![x](chart.png)')
  })

  test('a picture that nobody keeps here is a link and is never loaded', () => {
    const { html, files } = render(replyOf('![x](https://evil.example/pixel.png)'))
    expect(files).toEqual([])
    expect(html).not.toContain('<img')
  })
})

describe('questions', () => {
  test('X-003: a mail with a question goes to the authenticated address alone, and leaves how to answer to the sentence below', () => {
    const call = render(replyOf('', { parts: [question()], status: 'input_required' }), {}, ['@researcher'])
    expect(call.cc).toEqual([])
    // How to answer is said when it is sent, once.
    expect(call.text).toBe('I need an approval before I do this: pay 12 EUR')
    expect(call.decisions).toEqual([
      {
        action_id: 'action-3f2a91',
        code: '3f2a91',
        summary: 'pay 12 EUR <b>now</b>',
        expires_at: '2026-11-17T12:30:00.000Z',
      },
    ])
    expect(call.decided).toEqual({
      agent: 'helper',
      thread_id: 'email:t1',
      reply_to: { ...replyTo, reply_to_quote: null },
    })
  })

  test('a code that is none, and choices that are others, make no link', () => {
    const { policy } = question()
    const parts = [
      { kind: 'policy' as const, policy: { ...policy, code: '../../x' } },
      { kind: 'policy' as const, policy: { ...policy, choices: ['yes'] } },
    ]
    expect(render(replyOf('', { parts })).decisions).toEqual([])
  })
})
