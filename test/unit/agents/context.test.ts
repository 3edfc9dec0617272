// What tools may bind to, and in which mode a turn runs: a chat with a person, or work for another agent.
import { expect, test } from 'vitest'
import type { AgentContext } from '../../../src/agents/context.ts'
import { resolveVisibleTools } from '../../../src/agents/policy/tool-policy.ts'
import { buildToolContext } from '../../../src/agents/run-tools.ts'
import { defineTool } from '../../../src/agents/tools/define-tool.ts'
import { type NormalizedMessage, textPart, unverifiedSender } from '../../../src/contract/index.ts'

const caller = {
  caller_agent: 'bob',
  caller_user: 0,
  caller_host: 'https://elsewhere.example',
  chain_depth: 1,
  chain_root: 'root-1',
}
const relay = { mention_relay: { kind: 'none' as const } }
const message: NormalizedMessage = {
  id: 'm1',
  thread_id: 't1',
  sender: unverifiedSender('agents.example'),
  recipient: '@demo@agents.example',
  parts: [textPart('hello')],
  recipient_capabilities: relay,
  received_via: 'a2a',
  raw: null,
  received_at: '2026-11-18T00:00:00Z',
}
const fromAgent: NormalizedMessage = {
  ...message,
  recipient_capabilities: { ...relay, agent_chain: { hop: 1, max_hops: 4, is_final: false } },
}
// The facts of a turn, and nothing that does work.
const context = {
  principal: 'p',
  who: { caller_context: caller },
  evidence: [],
  runId: 'r1',
  sessionId: 's1',
  agent: 'demo',
} as unknown as AgentContext

test('bindings find the caller under caller_context, and the run under runtime_context', () => {
  const facts = buildToolContext(message, context)
  expect(facts['caller_context']).toEqual(caller)
  expect(facts['runtime_context']).toEqual({
    agent: 'demo',
    run_id: 'r1',
    session_id: 's1',
    thread_id: 't1',
    mode: 'chat',
  })
})

test('a turn that no agent called for has an empty caller context', () => {
  expect(buildToolContext(message, { ...context, who: { caller_context: null } })['caller_context']).toEqual({})
})

test('a tool of one mode is shown in that mode alone: a person chats, another agent makes it a pipeline', () => {
  const tool = (name: string, modes?: readonly string[]) => {
    const definition = { name, description: name, parameters: {}, execute: () => 1 }
    return defineTool(modes === undefined ? definition : { ...definition, modes }).declaration
  }
  const all = [tool('x/chat', ['chat']), tool('x/pipe', ['pipeline']), tool('x/any')]
  const tools = new Map(all.map((each) => [each.name, each]))
  const shownTo = (heard: NormalizedMessage) => [
    ...resolveVisibleTools(tools, { context: buildToolContext(heard, context) }).keys(),
  ]
  expect(shownTo(message)).toEqual(['x/chat', 'x/any'])
  expect(shownTo(fromAgent)).toEqual(['x/pipe', 'x/any'])
})
