// A story by mail: a question with a link, programs that follow it, a person who decides, and the answer in the same thread.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { localDomain, type MailScene, openMailScene } from '../doubles/mail-setup.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { draftMail } from '../doubles/signed-mails.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const deciders = nameStatement('test_deciders', 'select status, resolver from pending_actions order by id')
const publicUrl = 'https://parley.localhost'

describeOnDatabase('an approval by mail', (database) => {
  let scene: MailScene
  let server: ScriptedModelServer
  const paid: number[] = []
  const pay = defineTool({
    name: 'bank/pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    action_policy: 'preview',
    approval: { summary: ({ amount }) => `pay ${amount} EUR` },
    execute: ({ amount }) => {
      paid.push(amount)
      return { paid: amount }
    },
  })

  beforeEach(async () => {
    paid.length = 0
    server = await startScriptedModel()
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const agents = [defineAgent({ slug: 'demo', model, tools: [pay] })]
    scene = await openMailScene(database(), { agents, environment: { PARLEY_PUBLIC_URL: publicUrl } })
    server.script({ calls: [{ id: 'pay-1', name: 'bank__pay', arguments: '{"amount":12}' }] }, { text: 'Paid 12 EUR.' })
  })
  afterEach(async () => {
    await scene.close()
    await server.close()
  })

  const plainOf = (text: string) => text.replace(/=\r\n/g, '')
  const sentWith = async (words: string) => (await scene.sent()).filter(({ text }) => plainOf(text).includes(words))
  const write = (id: string, body: string, head: readonly string[] = [], to = `demo@${localDomain}`) =>
    scene.send(
      draftMail({
        from: 'Ada <ada@people.example>',
        to,
        body,
        head: [`Date: ${new Date().toUTCString()}`, `Message-ID: <${id}@people.example>`, 'Subject: Rent', ...head],
      }),
      { to: [to] },
    )
  const asked = async () => {
    expect(await write('first', 'Pay my rent')).toMatch(/^250 /)
    await settleUntil(scene.gateway, async () => (await sentWith('pay 12 EUR')).length > 0)
    const [question] = await sentWith('pay 12 EUR')
    return question ?? expect.unreachable('nobody was asked')
  }

  test('is decided by a link, once, and answered in the thread', async () => {
    const question = await asked()
    const link = /https:\/\/parley\.localhost(\/email\/decide\/([a-z2-7]{40}))/.exec(plainOf(question.text))
    const [, path = '', token = ''] = link ?? []
    const app = createTestApp(scene.gateway, database())
    for (const method of ['GET', 'HEAD', 'GET']) expect((await app.request(path, { method })).status).toBe(200)
    await scene.gateway.settle()
    expect(paid).toEqual([])

    const press = (decision: string) =>
      app.request(path, { method: 'POST', body: new URLSearchParams({ token, decision }) })
    expect((await press('approve')).status).toBe(200)
    expect((await press('reject')).status).toBe(410)
    await settleUntil(scene.gateway, async () => (await sentWith('Paid 12 EUR.')).length > 0)
    expect(paid).toEqual([12])
    expect(await sentWith('Paid 12 EUR.')).toHaveLength(1)
    expect((await app.request(path)).status).toBe(410)
    expect((await sentWith('Paid 12 EUR.'))[0]?.head).toMatchObject({ inReplyTo: ['first@people.example'] })
    const [decided] = await database().query<{ status: string; resolver: string }>(deciders, [])
    expect(decided).toMatchObject({
      status: 'accepted',
      resolver: expect.stringContaining('mailto:ada@people.example'),
    })
  })

  test('is decided by an answer whose first line says so', async () => {
    const question = await asked()
    const [, code = ''] = /\/approve ([0-9a-f]{6})/.exec(plainOf(question.text)) ?? []
    const head = [`In-Reply-To: <${question.head.messageId}>`]
    await write('second', `/approve ${code}\r\n\r\nThank you.`, head, question.head.replyTo[0]?.address)
    await settleUntil(scene.gateway, async () => (await sentWith('Paid 12 EUR.')).length > 0)
    expect(paid).toEqual([12])
  })
})
