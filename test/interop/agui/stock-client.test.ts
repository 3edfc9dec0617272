// AG-UI's own client, unchanged, as a web page would use it: its tools, our tools with their results, shared state, context, and a
// question to a person. What it keeps in its own list of messages is what a page would show.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ClerkScene, startClerk } from '../../conformance/agui/clerk-agent.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { describeBeside, importPeer, provePeer } from '../peer.ts'

type Message = {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly toolCallId?: string
  readonly toolCalls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}
type Run = {
  readonly runId: string
  readonly tools?: readonly object[]
  readonly context?: readonly object[]
  readonly forwardedProps?: object
  readonly resume?: unknown
}
type Interrupt = { readonly id: string }
type Subscriber = {
  readonly onRunFinishedEvent?: (params: {
    readonly event: { readonly outcome?: { readonly interrupts?: readonly Interrupt[] } }
  }) => void
  readonly onCustomEvent?: (params: { readonly event: { readonly name: string; readonly value: unknown } }) => void
}
type Agent = {
  readonly messages: readonly Message[]
  readonly state: unknown
  addMessage(message: Message): void
  setState(state: unknown): void
  runAgent(run: Run, subscriber?: Subscriber): Promise<unknown>
}
type Client = {
  readonly HttpAgent: new (config: {
    readonly url: string
    readonly threadId: string
    readonly initialState?: unknown
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

const confirmColor = {
  name: 'confirmColor',
  description: 'Asks the person whether the colour is right.',
  parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
}

describeBeside('the client of AG-UI, as it is', peer, (client) => {
  describeOnDatabase('in front of a model agent', (database) => {
    let scene: ClerkScene
    beforeEach(async () => {
      scene = await startClerk(database())
    })
    afterEach(() => scene.stop())

    const agentOn = (threadId: string, initialState?: unknown): Agent =>
      new (client().HttpAgent)({
        url: 'http://gateway.test/api/v1/agent/run',
        threadId,
        initialState,
        fetch: (url, init) => scene.api.request(new URL(url).pathname, init, { isHere: true }),
      })
    const callsOf = (agent: Agent) => agent.messages.flatMap((message) => message.toolCalls ?? [])
    const wordsOf = (agent: Agent) =>
      agent.messages.filter(({ role, content }) => role === 'assistant' && content).map(({ content }) => content)

    test('runs a tool of its own under the name it gave it, and the agent goes on with what came of it', async () => {
      scene.model.answerBy(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: 'Blue it is.' }
          : { calls: [{ id: 'c1', name: 'client__confirmColor', arguments: '{"color":"blue"}' }] },
      )
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'Which colour?' })
      await agent.runAgent({ runId: 'r1', tools: [confirmColor] })
      const [call] = callsOf(agent)
      expect(call?.function).toEqual({ name: 'confirmColor', arguments: '{"color":"blue"}' })
      // As a page does: the handler is found by its name, and its result added.
      const content = JSON.stringify({ confirmed: true })
      agent.addMessage({ id: 't1', role: 'tool', toolCallId: call?.id ?? '', content })
      await agent.runAgent({ runId: 'r2', tools: [confirmColor] })
      expect(wordsOf(agent)).toEqual(['Blue it is.'])
      expect(callsOf(agent)).toHaveLength(1)
      expect(agent.messages.filter(({ role }) => role === 'tool').map((message) => message.content)).toEqual([content])
      expect(JSON.stringify(scene.model.requests.at(-1)?.messages)).toContain('confirmed')
    })

    test('is told which of its tools were left out', async () => {
      await scene.stop()
      scene = await startClerk(database(), { toolPolicy: {} })
      scene.model.script({ text: 'Without.' })
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'Hello' })
      const told: unknown[] = []
      await agent.runAgent(
        { runId: 'r1', tools: [confirmColor] },
        { onCustomEvent: ({ event }) => void told.push(event) },
      )
      expect(told).toMatchObject([
        { name: 'gw.client_tools', value: { left_out: [{ name: 'confirmColor', reason: 'not_allowed' }] } },
      ])
    })

    test('has the result of our tool to render', async () => {
      scene.model.script({ calls: [{ id: 'c1', name: 'dice__roll', arguments: '{}' }] }, { text: 'Six.' })
      const agent = agentOn('t1')
      agent.addMessage({ id: 'm1', role: 'user', content: 'Roll' })
      await agent.runAgent({ runId: 'r1' })
      const result = agent.messages.find(({ role }) => role === 'tool')
      expect(JSON.parse(String(result?.content))).toEqual({ rolled: 6 })
      expect(result?.toolCallId).toBe(callsOf(agent)[0]?.id)
      expect(wordsOf(agent)).toEqual(['Six.'])
    })

    test('shares its state and its context, and another page of the same thread has what came of it', async () => {
      const patch = '{"patch":{"step":"pay"}}'
      scene.model.script(
        { calls: [{ id: 'c1', name: 'shared_state__update', arguments: patch }] },
        { text: 'On to the payment.' },
      )
      const agent = agentOn('t1', { step: 'cart', items: ['tea'] })
      agent.addMessage({ id: 'm1', role: 'user', content: 'Go on' })
      const context = [{ description: 'page', value: 'checkout of the tea shop' }]
      await agent.runAgent({ runId: 'r1', context, forwardedProps: { theme: 'dark' } })
      expect(agent.state).toEqual({ step: 'pay', items: ['tea'] })
      const asked = JSON.stringify(scene.model.requests[0]?.messages)
      for (const word of ['checkout of the tea shop', 'cart', 'dark']) expect(asked).toContain(word)
      scene.model.script({ text: 'Welcome back.' })
      const reloaded = agentOn('t1')
      reloaded.addMessage({ id: 'm2', role: 'user', content: 'Hello again' })
      await reloaded.runAgent({ runId: 'r2' })
      expect(reloaded.state).toEqual({ step: 'pay', items: ['tea'] })
    })

    test('asks its person, keeps its state meanwhile, and goes on with the decision', async () => {
      const payment = { id: 'c1', name: 'bank__pay', arguments: '{"amount":7}' }
      scene.model.script({ calls: [payment] }, { text: 'It is paid.' })
      const agent = agentOn('t1', { step: 'pay' })
      agent.addMessage({ id: 'm1', role: 'user', content: 'Pay seven.' })
      let interrupts: readonly Interrupt[] = []
      const onRunFinishedEvent: Subscriber['onRunFinishedEvent'] = ({ event }) => {
        interrupts = event.outcome?.interrupts ?? []
      }
      await agent.runAgent({ runId: 'r1' }, { onRunFinishedEvent })
      expect(interrupts).toHaveLength(1)
      expect(agent.state).toEqual({ step: 'pay' })
      const yes = { status: 'resolved', payload: { approved: true } }
      const resume = client().buildResumeArray(interrupts, Object.fromEntries(interrupts.map(({ id }) => [id, yes])))
      await agent.runAgent({ runId: 'r2', resume }, { onRunFinishedEvent })
      expect(interrupts).toEqual([])
      expect(scene.paid).toEqual([7])
      expect(wordsOf(agent).at(-1)).toContain('It is paid.')
      expect(callsOf(agent)).toHaveLength(1)
      expect(agent.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual(['{"paid":7}'])
    })
  })
})
