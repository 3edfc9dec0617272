// The real loop around a model that follows a script: one entry per turn, a value or what it makes of its request.

import type { ConversationResult } from '../../src/agents/loop/conversation-result.ts'
import type { LoopOptions } from '../../src/agents/loop/options.ts'
import { runLoop } from '../../src/agents/loop/run-loop.ts'
import type { Model, ModelRequest, ModelTurn } from '../../src/agents/models/model.ts'
import { createToolCatalog } from '../../src/agents/tools/catalog.ts'
import type { RequestedCall, ToolRunner } from '../../src/agents/tools/tool.ts'
import { createToolRunner, type ToolRunnerDeps } from '../../src/agents/tools/tool-runner.ts'
import type { Fields } from '../../src/lib/json-value.ts'
import { declared } from './tool-call.ts'

/** Beyond its end the script's last entry is said again. */
export type Script = readonly (ModelTurn | ((request: ModelRequest) => unknown))[]

export type Looped = {
  readonly result: ConversationResult
  readonly requests: readonly ModelRequest[]
  /** Name and payload, in the order they were told. */
  readonly events: readonly (readonly [string, Fields])[]
}

export async function looped(
  script: Script,
  options: Partial<LoopOptions> & { readonly input?: readonly unknown[] } = {},
): Promise<Looped> {
  const requests: ModelRequest[] = []
  const events: (readonly [string, Fields])[] = []
  const model: Model = async (request) => {
    requests.push(request)
    const entry = script[Math.min(requests.length, script.length) - 1] ?? {}
    // What a script makes may be as wrong as what a provider sends.
    return (typeof entry === 'function' ? entry(request) : entry) as ModelTurn
  }
  const { input = [{ role: 'user', content: 'hi' }], observers = [], ...rest } = options
  const result = await runLoop(input, {
    model,
    runId: 'run-1',
    sessionId: 'session-1',
    monotonicMs: () => 0,
    observers: [...observers, (name, payload) => events.push([name, payload])],
    ...rest,
  })
  return { result, requests, events }
}

/** Host tools by name, run by their functions. */
export function deskOf(
  tools: Readonly<Record<string, (parameters: Fields) => unknown>>,
  deps: Partial<ToolRunnerDeps> & { readonly declarations?: Readonly<Record<string, Fields>> } = {},
): ToolRunner {
  const { declarations = {}, ...rest } = deps
  const { signal } = new AbortController()
  return createToolRunner({
    catalog: createToolCatalog(Object.keys(tools).map((name) => declared({ name, ...declarations[name] }))),
    executors: { default: (call) => tools[call.tool_name]?.(call.parameters) },
    once: (_call, effect) =>
      effect({ key: 'key-1', fetch: globalThis.fetch, signal, assertHeld: () => {}, isUnsent: () => false }),
    defaultTimeoutMs: 60_000,
    ...rest,
  })
}

export const call = (name: string, parameters: Fields = {}, id?: string): RequestedCall => ({
  name,
  parameters,
  ...(id === undefined ? {} : { id }),
})

/** A turn that only calls tools. */
export const calling = (...calls: readonly RequestedCall[]): ModelTurn => ({ tool_calls: calls })

/** The last turn of a run with tools. */
export const saying = (content: string): ModelTurn => ({ content, tool_calls: [] })

/** The payloads of one event. */
export function told({ events }: Looped, name: string): readonly Fields[] {
  return events.filter(([each]) => each === name).map(([, payload]) => payload)
}
