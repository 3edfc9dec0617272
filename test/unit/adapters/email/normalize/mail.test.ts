// One mail to messages: whom it is for, who wrote it, what it says, where the answer goes.
import { describe, expect, test } from 'vitest'
import { normalizeMail } from '../../../../../adapters/email/normalize/mail.ts'
import type { IgnoredEvent, InboundMessage } from '../../../../../src/contract/index.ts'
import { addresses, alice, type Given, readMail, recipient } from './read-mail.ts'

const connection = { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' }
const scene = { addresses, addressDomains: ['strict.example'] }
const mailbox = (address: string) => ({ address, domain: address.split('@')[1] ?? '', name: '' })

async function normalized(given: Given = {}) {
  const mail = await readMail(given)
  const arrival = { bytes: mail.raw, headers: {}, receivedAt: mail.receivedAt, from: 'remote' as const }
  return normalizeMail(scene, mail, arrival, connection)
}
async function message(given: Given = {}): Promise<InboundMessage> {
  const [first, ...others] = await normalized(given)
  if (first?.kind !== 'message' || others.length > 0) return expect.unreachable(JSON.stringify(first))
  return first
}
async function ignored(given: Given = {}): Promise<IgnoredEvent> {
  const [first, ...others] = await normalized(given)
  if (first?.kind !== 'ignored' || others.length > 0) return expect.unreachable(JSON.stringify(first))
  return first
}

describe('who wrote it', () => {
  test('is what was proven, at the domain that signed it', async () => {
    const { message: read, subject } = await message()
    expect(subject).toBe('mailto:alice@sender.example')
    expect(read.sender).toMatchObject({
      address: '@alice@sender.example',
      display_name: 'Alice',
      verified: true,
      auth_method: 'email-dmarc',
      key_id: 's1._domainkey.sender.example',
      identities: [
        {
          subject: 'mailto:alice@sender.example',
          issuer: 'sender.example',
          method: 'urn:gw:auth:email-dmarc:v0.1',
          assurance: 'domain',
          audience: '@demo@parley.localhost',
        },
      ],
    })
  })

  test('is one mailbox only where its domain lets nobody write as another', async () => {
    const author = { ...mailbox('bob@strict.example') }
    const { message: read } = await message({ proof: { author, keyId: 's._domainkey.strict.example' } })
    expect(read.sender.identities?.[0]).toMatchObject({ assurance: 'address', issuer: 'strict.example' })
  })

  test.each(['weak', 'none'] as const)('is nobody where the proof is %s, whatever it claims', async (standing) => {
    const arrived = await message({ proof: { standing, method: 'none', author: undefined, keyId: undefined } })
    expect(arrived.subject).toBeUndefined()
    expect(arrived.message.sender).toEqual({
      address: '@unverified@parley.localhost',
      auth_method: 'none',
      verified: false,
    })
    expect(arrived.replyTo).toMatchObject({ address: 'nobody@unverified.invalid', name: '' })
    expect(JSON.stringify(arrived.replyTo)).not.toContain('alice')
  })

  test('is nobody where the address cannot be written down without a doubt', async () => {
    const author = mailbox('"a b"@sender.example')
    expect((await message({ proof: { author } })).message.sender.verified).toBe(false)
  })
})

describe('whom it is for', () => {
  test('is said by the envelope: one message for each agent, each with its own address and no other', async () => {
    const recipients = [await recipient('demo'), await recipient('billing')]
    const envelope = { rcptTo: ['demo@agents.example', 'billing@agents.example'] }
    const arrived = await normalized({ recipients, envelope })
    expect(arrived.map((each) => each.kind === 'message' && [each.agent, each.isAddressed])).toEqual([
      ['demo', true],
      ['billing', true],
    ])
    const raws = arrived.map((each) => (each.kind === 'message' ? each.message.raw : undefined))
    expect(raws).toMatchObject([
      { envelope: { to: 'demo@agents.example' } },
      { envelope: { to: 'billing@agents.example' } },
    ])
    expect(JSON.stringify(arrived[0])).not.toContain('billing')
  })

  test('is one agent once, also under two of its addresses, and the token counts', async () => {
    const tagged = await recipient('demo', { given: 'demo+x@agents.example', tokenKey: 'k'.repeat(16) })
    const arrived = await message({ recipients: [await recipient('demo'), tagged] })
    expect(arrived.message.raw).toMatchObject({ envelope: { to: 'demo+x@agents.example' } })
  })

  test('is nobody here: it leaves a row that says so', async () => {
    const recipients = [{ given: 'x@agents.example', kind: 'unknown' } as const]
    expect(await ignored({ recipients })).toMatchObject({
      reason: 'unknown_recipient',
      deliveryId: 'one@sender.example',
    })
  })
})

describe('the room it is said in', () => {
  const bob = mailbox('bob@b.example')
  const demo = mailbox('demo+tag@agents.example')
  test.each([
    ['to the agent alone', { to: [demo] }, 'dm', 'dm'],
    ['to two agents', { to: [demo, mailbox('billing@agents.example')] }, 'dm', 'dm'],
    ['with a copy to oneself', { to: [demo], cc: [alice] }, 'dm', 'dm'],
    ['to the agent and a person', { to: [demo, bob] }, 'group', 'mention'],
    ['to a person, the agent in copy', { to: [bob], cc: [demo] }, 'group', 'mention'],
    ['to a person, the agent blind', { to: [bob] }, 'group', 'none'],
    ['to nobody that is named', { to: [] }, 'group', 'none'],
  ])('%s', async (_, head, room, addressed) => {
    const { channel } = (await message({ head })).message
    expect(channel).toMatchObject({ room_kind: room, addressed })
  })

  test('a reply token speaks to the agent although no field names it', async () => {
    const recipients = [await recipient('demo', { tokenKey: 'k'.repeat(16) })]
    const { channel } = (await message({ recipients, head: { to: [bob] } })).message
    expect(channel).toMatchObject({ room_kind: 'group', addressed: 'reply' })
  })

  test('others are named as people, never as agents of ours', async () => {
    const { channel } = (await message({ head: { to: [demo, bob] } })).message
    expect(channel?.mentions).toEqual([{ text: 'bob@b.example', subject: 'mailto:bob@b.example' }])
  })
})

describe('what it says', () => {
  const textsOf = async (given: Given) =>
    (await message(given)).message.parts.map((part) => ('content' in part ? part.content : part.kind))

  test('begins with its subject where it opens a thread, and not where it goes on with one', async () => {
    expect(await textsOf({})).toEqual(['[subject: Hello]', 'Good morning.'])
    expect(await textsOf({ head: { inReplyTo: ['a@b.example'] } })).toEqual(['Good morning.'])
    expect(await textsOf({ head: { subject: 'Re: Hello' } })).toEqual(['Good morning.'])
    expect(await textsOf({ body: { text: '/help' } })).toEqual(['/help'])
  })

  test('is its subject where there is nothing else, and without that it says nothing', async () => {
    expect(await textsOf({ body: { text: '' } })).toEqual(['[subject: Hello]'])
    expect(await ignored({ body: { text: '' }, head: { subject: '' } })).toMatchObject({ reason: 'no_content' })
  })

  test('holds files by their place in the mail as it was kept', async () => {
    const file = { index: 2, name: 'a.pdf', mime: 'application/pdf', size: 9, disposition: 'attachment' } as const
    const arrived = await message({ body: { files: [file] }, original: 'o-1', originalId: 'd-1' })
    expect(arrived.message.parts.at(-1)).toEqual({
      kind: 'file',
      bytes_ref: { kind: 'channel', ref: { original: 'o-1', index: 2, mime: 'application/pdf', name: 'a.pdf' } },
      mime: 'application/pdf',
      name: 'a.pdf',
      size: 9,
    })
    expect(arrived.rawBlobs).toEqual(['o-1'])
    expect(arrived.pendingBlob).toMatchObject({ ref: 'o-1', id: 'd-1', mime: 'message/rfc822' })
  })

  test('tells the agent what it was not shown', async () => {
    expect(await textsOf({ body: { flags: ['text_cut', 'hidden_text_removed'] } })).toContain(
      '[the rest of this mail was too long]',
    )
  })
})

describe('where the answer goes', () => {
  test('is the proven author alone, whatever Reply-To and Cc say', async () => {
    const head = { replyTo: [mailbox('mallory@evil.example')], cc: [mailbox('victim@v.example')] }
    const { replyTo } = await message({ head })
    expect(replyTo).toMatchObject({
      address: 'alice@sender.example',
      name: 'Alice',
      agent: 'demo@agents.example',
      cc: [],
    })
    expect(JSON.stringify(replyTo)).not.toMatch(/mallory|victim/)
  })

  test('carries what a reply needs to be a reply', async () => {
    const references = Array.from({ length: 40 }, (_, at) => `${at}@b.example`)
    const { replyTo } = await message({ head: { references, inReplyTo: ['39@b.example'] } })
    expect(replyTo).toMatchObject({
      reply_to_id: 'one@sender.example',
      reply_to_subject: 'Hello',
      reply_to_key: expect.stringMatching(/^[a-z2-7]{16}$/),
      reply_to_quote: { author: 'Alice', date: '2026-11-17T11:59:00.000Z', text: 'Good morning.' },
      reply_to_hop: 0,
    })
    expect(replyTo['reply_to_references']).toEqual(['0@b.example', ...references.slice(21)])
  })

  test('differs between the mails of one person only in what begins with reply_to_', async () => {
    const place = async (given: Given) =>
      Object.entries((await message(given)).replyTo).filter(([name]) => !name.startsWith('reply_to_'))
    expect(await place({ head: { messageId: 'x@y.example', subject: 'Other' } })).toEqual(await place({}))
  })

  test('quotes forty lines and no more', async () => {
    const { replyTo } = await message({ body: { text: 'line\n'.repeat(100) } })
    expect(String((replyTo['reply_to_quote'] as { text: string }).text).split('\n')).toHaveLength(41)
  })
})

describe('what is kept of it', () => {
  test('a large mail keeps its head, and says where the rest is', async () => {
    const raw = `From: alice@sender.example\r\n\r\n${'x'.repeat(200_000)}`
    const kept = (await message({ raw, original: 'o-1' })).message.raw
    expect(kept).toMatchObject({ mail: 'From: alice@sender.example\r\n\r\n', original: 'o-1', size: raw.length })
  })

  test('a result that claims to be ours is not kept', async () => {
    const raw = [
      'From: alice@sender.example',
      'Authentication-Results:\r\n agents.example; dmarc=pass',
      'Authentication-Results: elsewhere.example; dmarc=fail',
      '',
      'Authentication-Results: agents.example; in the body',
    ].join('\r\n')
    const { mail } = (await message({ raw })).message.raw as { mail: string }
    expect(mail.match(/agents\.example/g)).toHaveLength(1)
    expect(mail).toContain('elsewhere.example; dmarc=fail')
    expect(mail).toContain('in the body')
  })
})

describe('what is never answered', () => {
  test('leaves a row with its reason and no message', async () => {
    const fields = [{ name: 'auto-submitted', value: 'auto-replied' }]
    expect(await ignored({ head: { fields } })).toMatchObject({
      reason: 'auto_submitted',
      isNoise: false,
      subject: 'mailto:alice@sender.example',
    })
  })

  test('an agent’s own mail, also where a hop header vouches for it', async () => {
    expect(await ignored({ head: { from: mailbox('demo@agents.example') }, hop: 1 })).toMatchObject({
      reason: 'own_message',
    })
  })

  test('a sibling’s mail is taken under a count, which the agent sees', async () => {
    const from = mailbox('billing@agents.example')
    const { message: read, replyTo } = await message({ head: { from }, proof: { author: from }, hop: 2 })
    expect(read.recipient_capabilities.agent_chain).toEqual({ hop: 2, max_hops: 4, is_final: false })
    expect(replyTo).toMatchObject({ reply_to_hop: 2 })
  })

  test('a report marks its delivery, and starts nothing', async () => {
    const sent = { clientId: 'turn-1:0', to: 'alice@sender.example' }
    const recipients = [{ given: 'bounce+x@agents.example', kind: 'bounce', digest: 'ab'.repeat(32), sent } as const]
    const report = { kind: 'complaint', recipients: [], about: undefined } as const
    expect(await ignored({ recipients, body: { report } })).toMatchObject({
      reason: 'complaint',
      deliveryId: `report:${'ab'.repeat(32)}`,
      roomStatus: { room: 'alice@sender.example', closed: 'complaint' },
    })
  })
})
