// One conversation by mail, five turns deep, with parts that nobody here wrote: swaks hands the mails in, to the gateway's own port or to
// a mailbox at Dovecot that the gateway reads; curl fetches the answers out of a mailbox; five programs mangle what they answer. In the
// middle the gateway is killed, and the mail server with it.
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import type { ParleyProcess } from '../../doubles/parley-process.ts'
import { eventually } from '../conversation/conversation-setup.ts'
import { describeBeside, type Peer } from '../peer.ts'
import { findCurl } from './curl-mailbox.ts'
import { findDovecot } from './dovecot.ts'
import { atProvider, type Heard, type MailPeers, type MailStage, openMailStage, type Way, ways } from './email-setup.ts'
import {
  ada,
  below,
  type Fetched,
  type File,
  fresh,
  german,
  indexOnly,
  outlook,
  type Program,
  toProvider,
  write,
} from './person.ts'
import { findSwaks, type Swaks, swaksSend } from './swaks.ts'

type Parts = MailPeers & { readonly swaks: Swaks }

const parts = await findParts()

async function findParts(): Promise<Peer<Parts>> {
  const [curl, dovecot, swaks] = [await findCurl(), await findDovecot(), await findSwaks()]
  if ('problem' in curl) return curl
  if ('problem' in dovecot) return dovecot
  if ('problem' in swaks) return swaks
  return { module: { curl: curl.module, dovecot: dovecot.module, swaks: swaks.module } }
}

const words = [
  'The lamps have come. What do they cost?',
  'Why so much?\n\nThey are small.',
  'Dann nehme ich zwei davon, bitte schön.',
  'Et la facture ?',
  'Here is the bill I mean.\nSend me yours.',
]
const answerTo = (heard: Heard, turn: number) =>
  `Answer ${turn}: ${heard.said.length} letters were read with great care.`
const every = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * 7) % 256))
const bill: File = { name: 'Rechnung für Ada.bin', mime: 'application/octet-stream', bytes: every }
const receipt = { name: 'reçu 7.bin', mime: 'application/octet-stream', bytes: Buffer.from(every).reverse() }

describeBeside('a conversation by mail', parts, (module) => {
  // Side by side: most of it is waiting.
  test.concurrent.each(ways)(
    'over %s stays one session for five turns of programs that mangle it, is answered once each, and carries a file each way',
    { timeout: 300_000 },
    async (way) => {
      const stage = await openMailStage(module(), way)
      try {
        await play(stage, module().swaks, way).catch(withAccount(stage))
      } finally {
        await stage.close()
      }
    },
  )
})

describeBeside('a mailbox at a provider', parts, (module) => {
  test('is all that is needed: it is answered as that mailbox, and the answer to it joins the session', {
    timeout: 300_000,
  }, async () => {
    const stage = await openMailStage(module(), 'provider')
    const talk = async (): Promise<void> => {
      const says = async (fetched: Fetched, text: string) => {
        const { to, mail } = await write(toProvider, fetched, text)
        await swaksSend(module().swaks, { port: stage.port, from: ada, to, mail })
      }
      stage.answer = async ({ said }) => ({ parts: [{ kind: 'text', mime: 'text/plain', content: `Heard: ${said}` }] })
      await stage.start()
      await says(nothing, 'What do they cost?')
      await eventually('an answer', async () => (await inboxOf(stage)).length > 0)
      const [first] = await inboxOf(stage)
      expect(first).toMatchObject({ from: { address: atProvider }, replyTo: [{ address: atProvider }] })
      await says({ ...nothing, messageId: first?.messageId?.slice(1, -1) ?? '' }, 'Thank you.')
      await eventually('another answer', async () => (await inboxOf(stage)).length > 1)
      expect(stage.heard.map(({ said }) => said)).toEqual(['[subject: Lamps]\nWhat do they cost?', 'Thank you.'])
      expect(new Set(stage.heard.map(({ session }) => session)).size).toBe(1)
      expect(stage.post.refused()).toBe(0)
    }
    try {
      await talk().catch(withAccount(stage))
    } finally {
      await stage.close()
    }
  })
})

/** It may have failed on a machine that is gone by now: what can be known of it is in the error. */
const withAccount = (stage: MailStage) => async (error: unknown) => {
  if (error instanceof Error) error.message += `\n${await stage.account()}`
  throw error
}

const nothing: Fetched = { messageId: '', replyTo: '', subject: '', text: '' }

async function play(stage: MailStage, swaks: Swaks, way: Way): Promise<void> {
  let gateway = await stage.start()
  const ids: string[] = []
  let fetched = nothing
  const says = async (program: Program, file?: File): Promise<void> => {
    const { id, to, mail } = await write(program, fetched, words[ids.length] ?? '', file)
    // Before it is sent: the agent may answer before swaks has ended.
    ids.push(id)
    const line = await swaksSend(swaks, { port: stage.port, from: ada, to, mail })
    expect(line).toMatch(/<- {2}250 [^\n]*\n -> QUIT/)
  }
  const isAnswered = async (): Promise<void> => {
    await eventually(`answer ${ids.length}`, async () => (await inboxOf(stage)).length >= ids.length, 120_000)
    const mails = await inboxOf(stage)
    const last = mails.at(-1)
    expect(mails.map(({ inReplyTo, messageId }) => [inReplyTo, messageId])).toHaveLength(ids.length)
    expect(last?.inReplyTo).toBe(`<${ids.at(-1)}>`)
    fetched = {
      messageId: last?.messageId?.slice(1, -1) ?? '',
      replyTo: last?.replyTo?.[0]?.address ?? '',
      subject: last?.subject ?? '',
      text: last?.text ?? '',
    }
  }
  const answers = async (heard: Heard) => ({
    parts: [{ kind: 'text', mime: 'text/plain', content: answerTo(heard, ids.length) }],
  })
  stage.answer = answers

  await says(fresh)
  await isAnswered()
  await says(outlook)
  await isAnswered()

  // It has said 250, or has taken the mail out of the mailbox, and is killed before the agent has answered.
  gateway = await killedWhileItThinks(stage, gateway, () => says(german))
  await isAnswered()

  if (way === 'imap') await (await stage.cutMailServer())()
  const back = await withoutMailServer(stage, () => says(indexOnly))
  stage.answer = answers
  await back()
  await isAnswered()

  const data_base64 = receipt.bytes.toString('base64')
  stage.answer = async (heard) => ({
    parts: [
      { kind: 'text', mime: 'text/plain', content: answerTo(heard, 5) },
      { kind: 'file', bytes_ref: { kind: 'inline', data_base64 }, mime: receipt.mime, name: receipt.name },
    ],
  })
  await says(below, bill)
  await isAnswered()

  await isWhole(stage, gateway, ids)
}

async function killedWhileItThinks(
  stage: MailStage,
  gateway: ParleyProcess,
  act: () => Promise<void>,
): Promise<ParleyProcess> {
  const [turns, { answer }] = [stage.heard.length, stage]
  const thinking = Promise.withResolvers<never>()
  stage.answer = () => thinking.promise
  await act()
  await eventually('the agent to think', () => stage.heard.length > turns)
  await gateway.kill()
  expect(await inboxOf(stage)).toHaveLength(turns)
  // Before the next process is up: it may ask the agent at once.
  stage.answer = answer
  return stage.start()
}

/** The mail server is gone when the answer wants to leave: the line to the mailbox is cut, and the post office takes nothing. */
async function withoutMailServer(stage: MailStage, act: () => Promise<void>): Promise<() => Promise<void>> {
  const gone = Promise.withResolvers<void>()
  const [turns, { answer }] = [stage.heard.length, stage]
  stage.answer = async (heard) => {
    await gone.promise
    return answer(heard)
  }
  await act()
  await eventually('the agent to think', () => stage.heard.length > turns)
  const back = await stage.cutMailServer()
  gone.resolve()
  await eventually('an answer to be put off', () => stage.post.refused() > 0)
  return back
}

const inboxOf = async (stage: MailStage) =>
  Promise.all((await stage.inbox.fetchAll()).map((raw) => PostalMime.parse(raw)))

async function isWhole(stage: MailStage, gateway: ParleyProcess, ids: readonly string[]): Promise<void> {
  const [first, second, third = '', fourth, fifth] = words
  // The third was told twice, since whoever heard it first was killed. Its quotation cannot be told from an answer between the lines:
  // then some of it is heard, too, rather than any word lost.
  expect(stage.heard.map(({ said }) => (said.startsWith(third) ? third : said))).toEqual([
    `[subject: Lamps]\n${first}`,
    second,
    third,
    third,
    `[subject: Tout autre chose]\n${fourth}`,
    fifth,
  ])
  expect(new Set(stage.heard.map(({ session }) => session)).size).toBe(1)
  expect(new Set(stage.heard.map(({ auth }) => auth))).toEqual(new Set(['email-dmarc']))

  const { sessions } = JSON.parse(await stage.parley('sessions', 'list', '--json')) as { sessions: readonly object[] }
  expect(sessions).toMatchObject([{ agent: 'desk', owner: expect.stringContaining(`mailto:${ada}`) }])

  const mails = await inboxOf(stage)
  expect(mails.map(({ text }) => /Answer (\d)/.exec(text ?? '')?.[1])).toEqual(['1', '2', '3', '4', '5'])
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(5)
  expect(stage.heard.at(-1)?.files).toEqual([
    { name: bill.name, mime: bill.mime, base64: bill.bytes.toString('base64') },
  ])
  const [enclosed, ...more] = mails.at(-1)?.attachments ?? []
  expect(more).toEqual([])
  expect(enclosed?.filename).toBe(receipt.name)
  expect(Buffer.from(enclosed?.content as ArrayBuffer).equals(receipt.bytes)).toBe(true)

  const { stats } = (await gateway.get('/admin/stats')).body as { stats: readonly object[] }
  expect(stats).toMatchObject([{ received: 5, answered: 5, refused: 0, dead: 0, inFlight: 0 }])
  const story = await stage.parley('explain', '--', ids.at(-1) ?? '')
  for (const hop of ['Received', 'Sender', 'Admitted', 'Turn', 'Replied', 'Delivered']) expect(story).toContain(hop)
}
