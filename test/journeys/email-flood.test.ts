// One person who writes a hundred mails at once is answered so often and no more; whoever else writes is answered.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../src/db/client.ts'
import { localDomain, type MailScene, openMailScene } from '../doubles/mail-setup.ts'
import { draftMail } from '../doubles/signed-mails.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement(
  'test_mail_fates',
  "select state, coalesce(reason, '') as reason, count(*)::int as n from inbox group by 1, 2 order by 1, 2",
)
const open = nameStatement('test_mail_open', 'select count(*)::int as n from inbox where ended_at is null')

/** Of one sender within an hour. */
const perSender = 20
const threads = 100

describeOnDatabase('a flood of mail', (database) => {
  let scene: MailScene
  beforeEach(async () => {
    scene = await openMailScene(database())
  })
  afterEach(() => scene.close())
  const write = (name: string, at: number): Promise<string> => {
    const from = `${name}@people.example`
    const to = `demo@${localDomain}`
    const head = [`Message-ID: <${name}-${at}@people.example>`, `Date: ${new Date().toUTCString()}`]
    const body = `Question ${at} of ${name}.`
    return scene.send(draftMail({ from: `${name} <${from}>`, to, head, body }), { from, to: [to] })
  }
  const isDone = async (): Promise<boolean> => (await database().query<{ n: number }>(open, []))[0]?.n === 0

  test('X-007: a hundred threads of one sender are answered up to the limit, and others all the same', async () => {
    const waiting = Array.from({ length: threads }, (_, at) => at)
    const answers: string[] = []
    const lane = async (): Promise<void> => {
      for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) answers.push(await write('ada', at))
    }
    await Promise.all(Array.from({ length: 10 }, lane))
    for (let at = 0; at < 3; at += 1) answers.push(await write('bob', at))
    expect(answers.filter((answer) => !answer.startsWith('250 '))).toEqual([])
    await settleUntil(scene.gateway, isDone)
    await scene.gateway.settle()
    const sent = await scene.sent()
    const repliesTo = (name: string): number => sent.filter(({ to }) => to.includes(`${name}@people.example`)).length
    expect({ ada: repliesTo('ada'), bob: repliesTo('bob') }).toEqual({ ada: perSender, bob: 3 })
    expect(await database().query(fates, [])).toContainEqual({
      state: 'refused',
      reason: 'reply_limit',
      n: threads - perSender,
    })
  }, 120_000)
})
