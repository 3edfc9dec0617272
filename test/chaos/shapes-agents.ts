// The agents of the crash test `shapes`, written as people write them: a step with the merged text as its argument, a step by its
// name alone, several steps in a row, a model with a tool that serves several messages at once, agents that ask others in parallel.
import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { type Agent, type AgentContext, defineAgent, type StepContext } from '../../src/agents/define-agent.ts'
import type { Model } from '../../src/agents/models/model.ts'
import { defineTool, type Tool } from '../../src/agents/tools/define-tool.ts'
import type { Envelope } from '../../src/contract/gateway-events.ts'
import { textOf } from '../../src/contract/index.ts'
import type { Json } from '../../src/lib/json-value.ts'
import { delay } from './crash-test.ts'
import { type Order, type OrderKind, type OrderWish, readOrders, replyText } from './shapes-order.ts'
import type { ShopAddress, ShopCall } from './shapes-shop.ts'

export const shapeNames = ['text', 'name', 'row', 'model', 'team'] as const
export type ShapeName = (typeof shapeNames)[number]

/** Those that people write to, and those that `team` asks. */
export function shapeAgents(shop: ShopAddress): readonly Agent[] {
  return [textAgent(shop), nameAgent(shop), rowAgent(shop), modelAgent(shop), teamAgent(shop), ...helpers(shop)]
}

/** One step whose argument is all that was said. */
function textAgent(shop: ShopAddress): Agent {
  return defineAgent({
    slug: 'text',
    run: (message, context) => {
      const text = textOf(message.parts)
      return working(shop, context, readOrders(text), async (orders) => {
        await act(shop, context, { step: 'order', label: 'order it', orders, text, args: text })
        return replyText(idsOf(orders))
      })
    },
  })
}

/** One step by its name alone. */
function nameAgent(shop: ShopAddress): Agent {
  return defineAgent({
    slug: 'name',
    run: (message, context) => {
      const text = textOf(message.parts)
      return working(shop, context, readOrders(text), async (orders) => {
        await act(shop, context, { step: 'order', label: 'order it', orders, text })
        return replyText(idsOf(orders))
      })
    },
  })
}

/** Several steps, one after the other, some alike; it listens between them for what its owner adds. */
function rowAgent(shop: ShopAddress): Agent {
  return defineAgent({
    slug: 'row',
    busy: 'steer',
    run: (message, context) => {
      const first = readOrders(textOf(message.parts))
      return working(shop, context, first, async (begun) => {
        const orders = [...begun]
        const listen = async (): Promise<void> => {
          const heard = await context.hear()
          orders.push(...readOrders(String(heard?.content ?? '')))
        }
        const said = (): string => idsOf(orders).join(' ')
        await act(shop, context, { step: 'reserve', label: 'reserve it', orders, text: said(), args: said() })
        await listen()
        await act(shop, context, { step: 'charge', label: 'charge for it', orders, text: said() })
        for (const [index, order] of orders.entries())
          await act(shop, context, { step: 'note', use: index + 1, label: 'note it', orders: [order], text: order.id })
        await listen()
        await act(shop, context, { step: 'ship', label: 'ship it', orders, text: said(), args: { ids: idsOf(orders) } })
        return replyText(idsOf(orders))
      })
    },
  })
}

/** Asks several others at once, one of them twice for the same. */
function teamAgent(shop: ShopAddress): Agent {
  return defineAgent({
    slug: 'team',
    run: (message, context) => {
      const text = textOf(message.parts)
      return working(shop, context, readOrders(text), async (orders) => {
        const questions = [['packer', 'box'] as const, ['packer', 'bag'] as const, ['biller', 'bill'] as const]
        await Promise.all([
          ...questions.map(([slug, what]) => context.agents.call(slug, `${what}\n${text}`)),
          ...[1, 2].map(() => context.agents.call('printer', text)),
        ])
        return replyText(idsOf(orders))
      })
    },
  })
}

function helpers(shop: ShopAddress): readonly Agent[] {
  const helper = (slug: string, acts: (text: string) => readonly Omit<Act, 'orders' | 'text'>[]): Agent =>
    defineAgent({
      slug,
      async run(message, context) {
        const text = textOf(message.parts)
        const orders = readOrders(text)
        for (const each of acts(text)) await act(shop, context, { ...each, orders, text })
        return 'done'
      },
    })
  const what = (text: string): string => text.split('\n')[0] ?? ''
  return [
    helper('packer', (text) => [
      { path: `packer ${what(text)}`, step: 'pack', label: 'pack it', args: text },
      { path: `packer ${what(text)}`, step: 'seal', label: 'seal it' },
    ]),
    helper('biller', () => [{ path: 'biller', step: 'bill', label: 'bill it' }]),
    helper('printer', (text) => [{ path: 'printer', step: 'print', label: 'print it', args: text, alike: 2 }]),
  ]
}

/**
 * A model whose tool serves all messages in one call, with other arguments each time it is asked; a long conversation is shown to it
 * as a summary that is never the same twice. It listens after each call.
 */
function modelAgent(shop: ShopAddress): Agent {
  const agent = defineAgent({
    slug: 'model',
    busy: 'steer',
    model: servingModel,
    tools: (['keyed', 'plain'] as const).map((kind) => serveTool(shop, kind)),
    compaction: {
      policy: { max_messages: 20, recent_messages: 18 },
      summarize: async () => `They ordered before (${randomUUID()}).`,
    },
  })
  return {
    ...agent,
    run: (message, context) =>
      working(shop, context, readOrders(textOf(message.parts)), async () => agent.run(message, context)),
  }
}

const toolName = (kind: OrderKind): string => `shop/serve-${kind}`

/** Then all lines of a turn are among those that are shown as they are. */
const maxCalls = 5

const servingModel: Model = async ({ messages }) => {
  const begins = messages.findLastIndex(({ role, type }) => role === 'assistant' && type !== 'tool_call') + 1
  const lines = messages.slice(begins)
  const orders = lines.filter(isSaidNow).flatMap(({ content }) => readOrders(String(content)))
  const results = lines.filter(({ type }) => type === 'tool_result')
  const calls = lines.filter(({ type }) => type === 'tool_call').map(askedFor)
  const served = new Set(calls.flatMap(({ ids }, index) => (isFailed(results[index]) ? [] : ids)))
  const open = orders.filter(({ id }) => !served.has(id))
  const [first] = open
  const last = calls.at(-1)
  const isAgain = last !== undefined && isFailed(results.at(-1))
  if (first === undefined || (isAgain && last.wish === 'shut') || calls.length >= maxCalls)
    return { content: replyText(idsOf(orders), first !== undefined || results.some(isUnknown)), tool_calls: [] }
  // What could not be sent is sent to a shop that is open by now; what may have arrived is said again word for word.
  const again = last?.wish === 'refused' ? { ...last, wish: 'plain' } : last
  const parameters = isAgain ? again : { ids: idsOf(open), wish: wishOf(open), nonce: randomUUID() }
  return { tool_calls: [{ name: toolName(first.kind), id: randomUUID(), parameters: { ...parameters } }] }
}

function isSaidNow({ role, type, metadata }: Envelope): boolean {
  return role === 'user' && type !== 'tool_result' && metadata['amends'] === undefined
}

type Served = { readonly ids: readonly string[]; readonly wish: string; readonly nonce: string }

function askedFor({ payload }: Envelope): Served {
  // The model wrote it.
  return payload['parameters'] as Served
}

/** It is told that it must not be called again. */
function isUnknown({ payload }: Envelope): boolean {
  return JSON.stringify(payload).includes('Do not call it again')
}

function isFailed(result: Envelope | undefined): boolean {
  return result !== undefined && result.payload['success'] === false && !isUnknown(result)
}

function serveTool(shop: ShopAddress, kind: OrderKind): Tool {
  return defineTool({
    name: toolName(kind),
    description: 'Serves orders.',
    label: 'serve it',
    parameters: z.object({ ids: z.array(z.string()), wish: z.string(), nonce: z.string() }),
    idempotent: kind === 'keyed',
    async execute({ ids, wish, nonce }, { key, fetch, signal, context }) {
      const facts = { path: 'model', step: 'tool', use: 1, label: 'serve it', alike: 1, text: nonce }
      const call = { ...facts, ids, kind, trouble: troubleOf(wish), turn: String(context['run_id']), pid: process.pid }
      const url = wish === 'refused' || wish === 'shut' ? shop.closedUrl : shop.url
      return callShop(url, { ...call, key }, { fetch, signal })
    },
  })
}

type Act = Pick<ShopCall, 'step' | 'label' | 'text'> & {
  readonly path?: string
  readonly use?: number
  readonly alike?: number
  readonly orders: readonly Order[]
  readonly args?: Json
}

async function act(shop: ShopAddress, context: AgentContext, asked: Act): Promise<void> {
  const { path = context.agent, step, use = 1, alike = 1, label, orders, text, args } = asked
  const kind = orders[0]?.kind ?? 'plain'
  const wish = wishOf(orders)
  const isRefused = wish === 'shut' || (wish === 'refused' && context.attempt === 1)
  const facts = { path, step, use, alike, label, text, kind, ids: idsOf(orders) }
  const call = { ...facts, trouble: troubleOf(wish), turn: context.runId, pid: process.pid } as const
  await context.step(
    step,
    (given) => callShop(isRefused ? shop.closedUrl : shop.url, { ...call, key: given.key }, given),
    { idempotent: kind === 'keyed', label, ...(args === undefined ? {} : { args }) },
  )
  if (wish === 'slow') await delay(250)
}

async function callShop(url: string, call: ShopCall, given: Pick<StepContext, 'fetch' | 'signal'>): Promise<string> {
  const { fetch, signal } = given
  const response = await fetch(`${url}/effects`, { method: 'POST', body: JSON.stringify(call), signal })
  return response.text()
}

/** Fails where its orders say so: before it has begun, or when all is done. */
async function working<T>(
  shop: ShopAddress,
  { attempt }: Pick<AgentContext, 'attempt'>,
  orders: readonly Order[],
  work: (orders: readonly Order[]) => Promise<T>,
): Promise<T> {
  const fails = async (when: 'before' | 'after'): Promise<boolean> => {
    if (attempt === 1 && orders.some(({ wish }) => wish === `flaky-${when}`)) return true
    const sick = idsOf(orders.filter(({ wish }) => wish === `poison-${when}`))
    return sick.length > 0 && (await isSick(shop, sick))
  }
  if (await fails('before')) throw new Error('failed before it began')
  const result = await work(orders)
  if (await fails('after')) throw new Error('failed when all was done')
  return result
}

async function isSick({ url }: ShopAddress, ids: readonly string[]): Promise<boolean> {
  const response = await fetch(`${url}/sick`, { method: 'POST', body: JSON.stringify(ids) })
  return (await response.json()) === true
}

function idsOf(orders: readonly Order[]): readonly string[] {
  return orders.map(({ id }) => id)
}

/** Of several, the first that is anything special. */
function wishOf(orders: readonly Order[]): OrderWish {
  return orders.find(({ wish }) => wish !== 'plain')?.wish ?? 'plain'
}

function troubleOf(wish: string): ShopCall['trouble'] {
  return wish === 'cut' || wish === 'lost' ? wish : 'none'
}
