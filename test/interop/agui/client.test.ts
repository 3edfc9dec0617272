// AG-UI's own client against the gateway: it judges the order of every stream it is given, and a violation ends the run for it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { type Scene, startScene } from '../../conformance/agui/agui-setup.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { describeBeside, importPeer, provePeer } from '../peer.ts'

type Message = { readonly id: string; readonly role: string; readonly content?: unknown }
type Interrupt = { readonly id: string }
type Finished = { readonly outcome?: { readonly type: string; readonly interrupts?: readonly Interrupt[] } }
type Subscriber = {
  readonly onRunFinishedEvent?: (params: { readonly event: Finished }) => void
  readonly onRunErrorEvent?: (params: { readonly event: { readonly code?: string } }) => void
}
type Agent = {
  readonly messages: readonly Message[]
  addMessage(message: Message): void
  runAgent(parameters: { readonly runId: string; readonly resume?: unknown }, subscriber?: Subscriber): Promise<unknown>
}
type Client = {
  readonly HttpAgent: new (config: {
    readonly url: string
    readonly threadId: string
    readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  }) => Agent
  readonly buildResumeArray: (interrupts: readonly Interrupt[], responses: Record<string, object>) => unknown
}

const imported = await importPeer('@ag-ui/client', (load) => load('@ag-ui/client') as Promise<Client>)
const peer = await provePeer('@ag-ui/client', imported, ({ HttpAgent, buildResumeArray }) => {
  const agent = new HttpAgent({ url: 'http://gateway.test/', threadId: 't1', fetch })
  agent.addMessage({ id: 'm1', role: 'user', content: 'hello' })
  if (agent.messages.length !== 1) throw new Error('it keeps no message')
  return buildResumeArray([{ id: 'i1' }], { i1: { status: 'resolved', payload: {} } })
})

describeBeside('the client of AG-UI', peer, (client) => {
  describeOnDatabase('accepts our streams', (database) => {
    let scene: Scene
    beforeEach(async () => {
      scene = await startScene(database())
    })
    afterEach(() => scene.stop())

    const agentOn = (threadId: string): Agent =>
      new (client().HttpAgent)({
        url: 'http://gateway.test/api/v1/agent/run',
        threadId,
        fetch: (url, init) => scene.api.request(new URL(url).pathname, init, { isHere: true }),
      })

    test('with text, tools and text again, as the messages they are', async () => {
      const glance = { id: 'call-1', name: 'bank__look', arguments: '{}' }
      scene.model.script({ text: 'Let me look.', calls: [glance] }, { text: 'Twelve.' })
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'How much?' })
      await agent.runAgent({ runId: 'r1' })
      const said = agent.messages.filter((message) => message.role === 'assistant' && message.content)
      expect(said.map((message) => message.content)).toEqual(['Let me look.', 'Twelve.'])
      expect(agent.messages.some((message) => message.role === 'tool')).toBe(true)
    })

    test('with an interrupt, its own resume, and the end of the run', async () => {
      const payment = { id: 'call-1', name: 'bank__pay', arguments: '{"amount":7}' }
      scene.model.script({ calls: [payment] }, { text: 'It is paid.' })
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'Pay seven.' })
      let interrupts: readonly Interrupt[] = []
      const onRunFinishedEvent: Subscriber['onRunFinishedEvent'] = ({ event }) => {
        interrupts = event.outcome?.interrupts ?? []
      }
      await agent.runAgent({ runId: 'r1' }, { onRunFinishedEvent })
      expect(interrupts).toHaveLength(1)
      const answers = Object.fromEntries(
        interrupts.map(({ id }) => [id, { status: 'resolved', payload: { approved: true } }]),
      )
      const resume = client().buildResumeArray(interrupts, answers)
      await agent.runAgent({ runId: 'r2', resume }, { onRunFinishedEvent })
      expect(interrupts).toEqual([])
      expect(agent.messages.at(-1)?.content).toContain('It is paid.')
      expect(scene.paid).toEqual([7])
    })

    test('with a failure, as the error of its run', async () => {
      scene.model.script({ status: 400 })
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'Hello' })
      const codes: (string | undefined)[] = []
      const onRunErrorEvent: Subscriber['onRunErrorEvent'] = ({ event }) => void codes.push(event.code)
      await agent.runAgent({ runId: 'r1' }, { onRunErrorEvent }).catch(() => undefined)
      expect(codes).toHaveLength(1)
    })

    test('with a try that broke off, whose words are gone in the end', async () => {
      await scene.stop()
      let tries = 0
      const restless = defineAgent({
        slug: 'demo',
        async run(_message, { show }) {
          tries += 1
          show(tries === 1 ? 'Wrong words' : 'Right words')
          await new Promise((resolve) => setTimeout(resolve, 250))
          if (tries === 1) throw new Error('broken off')
          return 'Right words'
        },
      })
      scene = await startScene(database(), [restless])
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'Hello' })
      await agent.runAgent({ runId: 'r1' })
      const said = agent.messages.filter((message) => message.role === 'assistant')
      expect(said.map((message) => message.content)).toEqual(['Right words'])
    })
  })
})
