// The five headers of a chain of agents. What cannot be read refuses the request; what was written can be read again.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxChainDepth } from '../../../src/contract/caller.ts'
import {
  callerHeaders,
  createNextCallChain,
  isCallerLoop,
  readCallerContext,
  startCallerContext,
} from '../../../src/identity/call-chain.ts'

const hop = {
  'X-Agents-Api-Caller-Agent': 'helper',
  'X-Agents-Api-Caller-User': '12',
  'X-Agents-Api-Caller-Host': 'https://other.example',
  'X-Agents-Api-Chain-Depth': '2',
  'X-Agents-Api-Chain-Root': 'root-1',
}
const read = (headers: Readonly<Record<string, string | undefined>>, maxDepth?: number) =>
  readCallerContext(headers, { newRoot: () => 'fresh', ...(maxDepth === undefined ? {} : { maxDepth }) })
const context = {
  caller_agent: 'helper',
  caller_user: 12,
  caller_host: 'https://other.example',
  chain_depth: 2,
  chain_root: 'root-1',
}

test('no headers are the top of a chain with a root of its own', () => {
  expect(read({ accept: 'text/html' })).toEqual({ ok: true, context: startCallerContext('fresh') })
})

test('five headers are read in any spelling, without the blanks around them', () => {
  expect(read(hop)).toEqual({ ok: true, context })
  const shouted = Object.entries(hop).map(([name, value]) => [name.toUpperCase(), ` ${value}\t`])
  expect(read(Object.fromEntries(shouted))).toEqual({ ok: true, context })
})

test('depth 0 with host self, user 0 and no agent is the top', () => {
  const top = { 'x-agents-api-chain-depth': '0', 'x-agents-api-caller-host': 'self', 'x-agents-api-caller-user': '0' }
  expect(read({ ...top, 'x-agents-api-chain-root': 'r' })).toEqual({ ok: true, context: startCallerContext('r') })
  expect(read(top)).toEqual({ ok: true, context: startCallerContext('fresh') })
})

describe('what comes back is what was sent', () => {
  test('at the top, where nothing is said', () => {
    expect(callerHeaders(startCallerContext('root-1'))).toEqual({})
    expect(read(callerHeaders(startCallerContext('root-1')))).toMatchObject({ ok: true })
  })

  test('on every hop', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 15 }),
        fc.nat(),
        fc.stringMatching(/^[a-z0-9-]{1,20}$/),
        (depth, user, agent) => {
          const next = createNextCallChain(
            { ...context, chain_depth: depth },
            { agent, host: 'https://me.example', user },
          )
          expect(next).toBeDefined()
          if (next !== undefined) expect(read(callerHeaders(next))).toEqual({ ok: true, context: next })
        },
      ),
    )
  })

  test('one deeper, with us as the caller and the same root', () => {
    expect(createNextCallChain(context, { agent: 'demo', host: 'https://me.example/base/' })).toEqual({
      caller_agent: 'demo',
      caller_user: 0,
      caller_host: 'https://me.example',
      chain_depth: 3,
      chain_root: 'root-1',
    })
  })

  test('until the chain is as long as it may be', () => {
    const last = { ...context, chain_depth: maxChainDepth }
    expect(createNextCallChain(last, { agent: 'demo', host: 'https://me.example' })).toBeUndefined()
    expect(
      createNextCallChain({ ...context, chain_depth: 3 }, { agent: 'demo', host: 'https://me.example' }, 3),
    ).toBeUndefined()
  })
})

test('a host may set a lower ceiling', () => {
  expect(read(hop, 1)).toMatchObject({ ok: false, field: 'depth' })
})

describe('a loop', () => {
  const self = { agent: 'demo', host: 'https://me.example' }

  test.each<[string, Parameters<typeof isCallerLoop>, boolean]>([
    ['somebody else called', [context, self, []], false],
    ['we called ourselves', [{ ...context, caller_agent: 'demo', caller_host: 'https://me.example' }, self, []], true],
    ['the chain was here before', [context, self, [self]], true],
    ['the chain was here before, written otherwise', [context, self, [{ ...self, host: 'https://ME.example/' }]], true],
    ['the agent’s namesake elsewhere was', [context, self, [{ ...self, host: 'https://other.example' }]], false],
    ['another agent here was', [context, self, [{ ...self, agent: 'demo2' }]], false],
    ['a chain begins', [startCallerContext('r'), self, [self]], false],
  ])('%s', (_what, args, expected) => {
    expect(isCallerLoop(...args)).toBe(expected)
  })
})
