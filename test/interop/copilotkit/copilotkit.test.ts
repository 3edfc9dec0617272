// CopilotKit in front of the gateway, unchanged: its own client (`@copilotkit/core`, what its hooks stand on) talks to its own runtime, whose
// agent is AG-UI's HttpAgent with the address of the gateway. Both over HTTP on this machine.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ClerkScene, startClerk } from '../../conformance/agui/clerk-agent.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { describeBeside, importPeer, provePeer } from '../peer.ts'

type Message = {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly toolCalls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
}
type Agent = {
  threadId: string
  readonly messages: readonly Message[]
  readonly state: unknown
  addMessage(message: Message): void
  setState(state: unknown): void
  subscribe(subscriber: {
    readonly onRunFinishedEvent?: (params: { readonly event: { readonly outcome?: Outcome } }) => void
  }): unknown
}
type Outcome = { readonly type: string; readonly interrupts?: readonly { readonly id: string }[] }
type Core = {
  readonly agents: Readonly<Record<string, Agent>>
  addContext(entry: { readonly description: string; readonly value: string }): string
  getAgent(id: string): Agent | undefined
  runAgent(run: { readonly agent: Agent; readonly resume?: readonly object[] }): Promise<unknown>
}
type CopilotKit = {
  readonly CopilotKitCore: new (config: { readonly runtimeUrl: string; readonly tools?: readonly object[] }) => Core
  readonly CopilotRuntime: new (config: { readonly agents: Readonly<Record<string, unknown>> }) => unknown
  readonly createCopilotRuntimeHandler: (config: {
    readonly runtime: unknown
    readonly basePath: string
  }) => (request: Request) => Promise<Response>
  readonly HttpAgent: new (config: { readonly url: string }) => unknown
  readonly z: typeof import('zod')
}

// No test calls home.
process.env['COPILOTKIT_TELEMETRY_DISABLED'] = 'true'
// Its client connects only in a browser, which it knows by this name.
Object.assign(globalThis, { window: globalThis })
const load = (specifier: string) => import(/* @vite-ignore */ specifier)
const imported = await importPeer('CopilotKit', async () => {
  const problem = process.env['PARLEY_COPILOTKIT_PROBLEM']
  if (problem !== undefined) throw new Error(problem)
  const [core, runtime, client, z] = await Promise.all([
    load('@copilotkit/core'),
    load('@copilotkit/runtime/v2'),
    load('@ag-ui/client'),
    load('zod'),
  ])
  return { ...core, ...runtime, HttpAgent: client.HttpAgent, z: z.z } as CopilotKit
})
const peer = await provePeer('CopilotKit', imported, ({ CopilotRuntime, createCopilotRuntimeHandler, HttpAgent }) => {
  const runtime = new CopilotRuntime({ agents: { default: new HttpAgent({ url: 'http://127.0.0.1:9/' }) } })
  return createCopilotRuntimeHandler({ runtime, basePath: '/api/copilotkit' })
})

async function listen(answer: (request: Request) => Promise<Response>): Promise<{ url: string; server: Server }> {
  const listener = getRequestListener(answer)
  const server = createServer((request, response) => void listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

describeBeside('CopilotKit, client and runtime as they are', peer, (copilotKit) => {
  describeOnDatabase('in front of a model agent', (database) => {
    let scene: ClerkScene
    let servers: Server[]
    let runtimeUrl: string
    beforeEach(async () => {
      scene = await startClerk(database())
      const gateway = await listen((request) =>
        request
          .text()
          .then((body) =>
            scene.api.request(
              new URL(request.url).pathname,
              { method: request.method, headers: request.headers, body },
              { isHere: true },
            ),
          ),
      )
      const { CopilotRuntime, createCopilotRuntimeHandler, HttpAgent } = copilotKit()
      const agents = { default: new HttpAgent({ url: `${gateway.url}/api/v1/agent/run` }) }
      const handler = createCopilotRuntimeHandler({
        runtime: new CopilotRuntime({ agents }),
        basePath: '/api/copilotkit',
      })
      const runtime = await listen(handler)
      runtimeUrl = `${runtime.url}/api/copilotkit`
      servers = [gateway.server, runtime.server]
    })
    afterEach(async () => {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
      await scene.stop()
    })

    const open = async (tools: readonly object[] = []) => {
      const core = new (copilotKit().CopilotKitCore)({ runtimeUrl, tools })
      await expect.poll(() => core.getAgent('default'), { timeout: 5_000 }).toBeDefined()
      const agent = core.getAgent('default')
      if (agent === undefined) throw new Error('the runtime names no agent')
      // Its runtime keeps threads for the whole process.
      agent.threadId = crypto.randomUUID()
      return { core, agent }
    }
    const wordsOf = ({ messages }: Agent) =>
      messages.filter(({ role, content }) => role === 'assistant' && content).map(({ content }) => content)
    const callsOf = ({ messages }: Agent) => messages.flatMap(({ toolCalls }) => toolCalls ?? [])
    const resultsOf = ({ messages }: Agent) =>
      messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

    test('runs a frontend tool once and the agent goes on with what it gave', async () => {
      scene.model.answerBy(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: 'Blue it is.' }
          : { calls: [{ id: 'c1', name: 'client__confirmColor', arguments: '{"color":"blue"}' }] },
      )
      const asked: unknown[] = []
      const { z } = copilotKit()
      const confirmColor = {
        name: 'confirmColor',
        description: 'Asks the person whether the colour is right.',
        parameters: z.object({ color: z.string() }),
        handler: async (args: unknown) => {
          asked.push(args)
          return { confirmed: true }
        },
      }
      const { core, agent } = await open([confirmColor])
      agent.addMessage({ id: 'm1', role: 'user', content: 'Which colour?' })
      await core.runAgent({ agent })
      expect(asked).toEqual([{ color: 'blue' }])
      expect(wordsOf(agent)).toEqual(['Blue it is.'])
      expect(callsOf(agent).map((call) => call.function.name)).toEqual(['confirmColor'])
      expect(resultsOf(agent)).toEqual(['{"confirmed":true}'])
    })

    test('has the result of our tool to render', async () => {
      scene.model.script({ calls: [{ id: 'c1', name: 'dice__roll', arguments: '{}' }] }, { text: 'Six.' })
      const { core, agent } = await open()
      agent.addMessage({ id: 'm1', role: 'user', content: 'Roll' })
      await core.runAgent({ agent })
      expect(resultsOf(agent)).toEqual(['{"rolled":6}'])
      expect(wordsOf(agent)).toEqual(['Six.'])
    })

    test('shares readable context and state', async () => {
      const patch = '{"patch":{"step":"pay"}}'
      scene.model.script(
        { calls: [{ id: 'c1', name: 'shared_state__update', arguments: patch }] },
        { text: 'On to the payment.' },
      )
      const { core, agent } = await open()
      core.addContext({ description: 'page', value: 'checkout of the tea shop' })
      agent.setState({ step: 'cart', items: ['tea'] })
      agent.addMessage({ id: 'm1', role: 'user', content: 'Go on' })
      await core.runAgent({ agent })
      expect(agent.state).toEqual({ step: 'pay', items: ['tea'] })
      const asked = JSON.stringify(scene.model.requests[0]?.messages)
      for (const word of ['checkout of the tea shop', 'cart']) expect(asked).toContain(word)
    })

    test('asks its person and goes on with the decision', async () => {
      const payment = { id: 'c1', name: 'bank__pay', arguments: '{"amount":7}' }
      scene.model.script({ calls: [payment] }, { text: 'It is paid.' })
      const { core, agent } = await open()
      let interrupts: Outcome['interrupts'] = []
      agent.subscribe({
        onRunFinishedEvent: ({ event }) => {
          interrupts = event.outcome?.interrupts ?? []
        },
      })
      agent.addMessage({ id: 'm1', role: 'user', content: 'Pay seven.' })
      await core.runAgent({ agent })
      expect(interrupts).toHaveLength(1)
      const resume = interrupts.map(({ id }) => ({
        interruptId: id,
        status: 'resolved',
        payload: { approved: true },
      }))
      await core.runAgent({ agent, resume })
      expect(scene.paid).toEqual([7])
      expect(wordsOf(agent).at(-1)).toContain('It is paid.')
      expect(resultsOf(agent)).toEqual(['{"paid":7}'])
    })
  })
})
