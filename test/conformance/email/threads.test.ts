// The email cases about threads, ids and recipients: mails over SMTP, and which conversation they are in.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { subjectWithoutReplyMarks } from '../../../adapters/email/render/reply.ts'
import { threadKey } from '../../../adapters/email/threading.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { localDomain, type MailScene, openMailScene, type SentOut } from '../../doubles/mail-setup.ts'
import { draftMail } from '../../doubles/signed-mails.ts'
import { settleUntil } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

type Row = {
  readonly id: string
  readonly agent: string
  readonly conversation: string
  readonly thread: string
  readonly parent: string | null
  readonly flagged: boolean
}

const rows = nameStatement(
  'test_mail_threads',
  `select i.message_id as id, i.agent, i.conversation_id as conversation, i.is_flagged as flagged, i.message ->> 'thread_id' as thread,
     i.message ->> 'in_reply_to' as parent
   from inbox i order by i.seq`,
)
const renamed = nameStatement(
  'test_mail_rename',
  `insert into conversation_aliases (tenant, connection, agent, external_id, conversation_id)
   select tenant, connection, agent, $1, conversation_id from conversation_aliases limit 1`,
)

describeOnDatabase('mail in threads', (database) => {
  let scene: MailScene
  let heard: string[][]
  let mails = 0
  beforeEach(async () => {
    heard = []
    const agent = (slug: string) =>
      defineAgent({
        slug,
        run: (message) => {
          heard.push((message.history ?? []).map(({ role }) => role))
          return `${slug} answers`
        },
      })
    scene = await openMailScene(database(), { agents: [agent('demo'), agent('billing')] })
  })
  afterEach(() => scene.close())

  const read = () => database().query<Row>(rows, [])
  const say = async (
    who: string,
    {
      head = [],
      to = `demo@${localDomain}`,
      body = 'Hello.',
    }: { head?: readonly string[]; to?: string; body?: string } = {},
  ): Promise<Row> => {
    mails += 1
    const usual = [`Message-ID: <m${mails}@people.example>`, `Date: ${new Date().toUTCString()}`]
    const given = new Set(head.map((line) => line.split(':')[0]))
    const lines = [...usual.filter((line) => !given.has(line.split(':')[0])), ...head]
    const answer = await scene.send(draftMail({ from: `<${who}>`, to, head: lines, body }), { from: who, to: [to] })
    expect(answer).toMatch(/^250 /)
    return (await read()).at(-1) ?? expect.unreachable('nothing is stored')
  }
  const answersSoFar = async (count: number): Promise<readonly SentOut[]> => {
    await settleUntil(scene.gateway, async () => (await scene.sent()).length >= count)
    return scene.sent()
  }
  const ada = 'ada@people.example'
  const eve = 'eve@elsewhere.example'

  test('EM-110: an answer to our mail by the same sender goes on with its thread', async () => {
    const first = await say(ada)
    const [reply] = await answersSoFar(1)
    const second = await say(ada, {
      head: [`In-Reply-To: <${reply?.head.messageId}>`, `References: <${first.id}> <${reply?.head.messageId}>`],
    })
    expect(second).toMatchObject({
      conversation: first.conversation,
      thread: first.thread,
      parent: reply?.head.messageId,
    })
    await answersSoFar(2)
    expect(heard.at(-1)).toEqual(['user', 'assistant'])
  })

  test('EM-111: a stranger who names somebody else’s mail begins a thread of their own and reads nothing', async () => {
    const first = await say(ada)
    const [reply] = await answersSoFar(1)
    const theirs = await say(eve, { head: [`In-Reply-To: <${reply?.head.messageId}>`, `References: <${first.id}>`] })
    expect(theirs.conversation).not.toBe(first.conversation)
    await answersSoFar(2)
    expect(heard.at(-1)).toEqual([])
  })

  test('EM-112: a reply token that was forwarded opens nothing for whoever got it', async () => {
    const first = await say(ada)
    const [reply] = await answersSoFar(1)
    const to = reply?.head.replyTo[0]?.address ?? ''
    expect(to).toMatch(/^demo\+[a-z2-7]{32}@/)
    expect((await say(eve, { to })).conversation).not.toBe(first.conversation)
    expect((await say(ada, { to })).conversation).toBe(first.conversation)
  })

  test('EM-113: a token that was changed is no token, and the mail is taken all the same', async () => {
    const first = await say(ada)
    const [reply] = await answersSoFar(1)
    const to = reply?.head.replyTo[0]?.address.replace(/\+./, (found) => (found === '+a' ? '+b' : '+a')) ?? ''
    const second = await say(ada, { to })
    expect(second.conversation).not.toBe(first.conversation)
    expect(second.agent).toBe('demo')
  })

  test('EM-114: Outlook’s index joins where there are no references, for the same sender only', async () => {
    const head = [`Thread-Index: ${Buffer.alloc(22, 7).toString('base64')}`]
    const child = [`Thread-Index: ${Buffer.concat([Buffer.alloc(22, 7), Buffer.alloc(5, 1)]).toString('base64')}`]
    const first = await say(ada, { head })
    expect((await say(ada, { head: child })).conversation).toBe(first.conversation)
    expect((await say(eve, { head: child })).conversation).not.toBe(first.conversation)
  })

  test('EM-115: a subject alone joins nothing, however recent it is', async () => {
    const head = ['Subject: The invoice of May']
    const first = await say(ada, { head })
    const second = await say(ada, { head: ['Subject: Re: The invoice of May'] })
    expect(second.conversation).not.toBe(first.conversation)
  })

  test('EM-116: "AW: Re: WG: 回复: Foo" is about Foo', () => {
    expect(subjectWithoutReplyMarks('AW: Re: WG: 回复: Foo')).toBe('Foo')
  })

  test('EM-117: an answer to the id that a provider gave our mail finds its thread', async () => {
    const first = await say(ada)
    await answersSoFar(1)
    const theirs = 'provider-made-this@eu-west.provider.example'
    await database().query(renamed, [`t:${await threadKey(theirs)}`])
    const second = await say(ada, { head: [`In-Reply-To: <${theirs}>`] })
    expect(second.conversation).toBe(first.conversation)
  })

  test('EM-118: another body under an id that is known is a message of its own, and flagged', async () => {
    const head = ['Message-ID: <same@people.example>']
    await say(ada, { head, body: 'one' })
    await say(eve, { head, body: 'two' })
    await say(ada, { head, body: 'three' })
    const stored = await read()
    expect(stored.map(({ flagged }) => flagged)).toEqual([false, false, true])
    expect(stored[1]?.conversation).not.toBe(stored[0]?.conversation)
  })

  test('EM-119: a mail without an id has one made of its bytes, and comes once however often it is sent', async () => {
    const head = ['Message-ID: none', 'Date: Tue, 17 Nov 2026 12:00:00 +0000']
    const { id } = await say(ada, { head })
    expect(id).toMatch(/^[0-9a-f]{64}@invalid$/)
    await say(ada, { head })
    expect(await read()).toHaveLength(1)
  })

  test('EM-139: a sibling is woken by To and Cc and not by words', async () => {
    await say(ada, { body: '@billing please look at this' })
    await answersSoFar(1)
    expect((await read()).map(({ agent }) => agent)).toEqual(['demo'])
  })

  test('EM-07: the same mail to two agents is one run for each of them', async () => {
    const to = [`demo@${localDomain}`, `billing@${localDomain}`]
    const head = [`Date: ${new Date().toUTCString()}`, `Cc: ${to[1]}`]
    const mail = draftMail({ from: `<${ada}>`, to: to[0] ?? '', head })
    for (let times = 0; times < 2; times += 1) expect(await scene.send(mail, { to })).toMatch(/^250 /)
    await answersSoFar(2)
    expect((await read()).map(({ agent }) => agent).toSorted()).toEqual(['billing', 'demo'])
    expect((await scene.sent()).map(({ head: { from } }) => from?.address).toSorted()).toEqual(to.toSorted())
  })

  test('EM-063: a blind copy is a message of its own that tells the others nothing', async () => {
    const to = [`demo@${localDomain}`, `billing@${localDomain}`]
    const head = [`Date: ${new Date().toUTCString()}`]
    expect(await scene.send(draftMail({ from: `<${ada}>`, to: to[0] ?? '', head }), { to })).toMatch(/^250 /)
    const stored = await database().query<{ agent: string; raw: string }>(
      nameStatement('test_mail_raw', 'select agent, raw::text as raw from inbox order by seq'),
      [],
    )
    expect(stored.map(({ agent }) => agent)).toEqual(['demo', 'billing'])
    expect(stored[0]?.raw).not.toContain('billing')
    expect(stored[1]?.raw).toContain(`"to": "billing@${localDomain}"`)
  })
})
