// What may become of a call between a gateway and a peer, once; and how a story must look when it has been told.
import { expect } from 'vitest'
import type { ParleyProcess } from '../../doubles/parley-process.ts'
import { ending, eventually, type Stage } from './conversation-setup.ts'
import type { Meeting, Passing } from './relay.ts'

export type Story = {
  readonly stage: Stage
  readonly gateway: () => ParleyProcess
  readonly meet: (meeting: Meeting) => void
  /** What the bot has said in its place, by the peer's own state. */
  readonly texts: () => Promise<readonly string[]>
  /** What it has said anywhere else. */
  readonly elsewhere: () => Promise<readonly string[]>
}

type Met = { readonly isMet: Promise<void>; readonly letGo: () => void }

/** The first such call reaches Slack, and whoever made it is left without an answer. */
export function atFirst(story: Pick<Story, 'meet'>, isMeant: (call: Passing) => boolean): Met {
  return meetOnce(story, isMeant, async (forward, { tell }) => {
    await forward()
    tell()
    return new Promise<undefined>(() => {})
  })
}

/** The first such call is on its way until it is let go. */
export function held(story: Pick<Story, 'meet'>, isMeant: (call: Passing) => boolean): Met {
  return meetOnce(story, isMeant, async (forward, { tell, letGo }) => {
    tell()
    await letGo
    return forward()
  })
}

type Way = { readonly tell: () => void; readonly letGo: Promise<void> }

function meetOnce(
  story: Pick<Story, 'meet'>,
  isMeant: (call: Passing) => boolean,
  act: (forward: Parameters<Meeting>[1], way: Way) => ReturnType<Meeting>,
): Met {
  const [met, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isOver = false
  story.meet(async (call, forward) => {
    if (isOver || !isMeant(call)) return forward()
    isOver = true
    return act(forward, { tell: met.resolve, letGo: going.promise })
  })
  // A test that waited for ever would leave its processes behind.
  const late = setTimeout(() => met.reject(new Error('no such call came')), 120_000)
  return { isMet: met.promise.finally(() => clearTimeout(late)), letGo: going.resolve }
}

/** The words are whole at the end, then what was held arrives and they are not. */
export async function comesLate(story: Pick<Story, 'texts'>, letGo: () => void): Promise<void> {
  const last = async () => (await story.texts()).at(-1)
  await eventually('the last words', async () => (await last()) === ending)
  letGo()
  await eventually('the late edit', async () => (await last()) !== ending)
}

/** Told once and whole, nothing under way, paid once, books balanced. */
export async function isTold(story: Story, whole: readonly unknown[]): Promise<void> {
  const { stage, texts } = story
  await eventually('the whole story', async () => isSame(await texts(), whole), 90_000).catch(async () =>
    expect(await texts()).toEqual(whole),
  )
  await eventually('quiet', async () => {
    const open = await story.gateway().get('/admin/deliveries?state=queued,sending,retry,unknown&limit=100')
    const [line] = await stage.books(story.gateway())
    const { deliveries } = open.body as { deliveries: readonly { settledAt: string | null }[] }
    return line?.inFlight === 0 && deliveries.every(({ settledAt }) => settledAt !== null)
  })
  expect(await texts()).toEqual(whole)
  expect(await story.elsewhere()).toEqual([])
  expect(stage.paid).toEqual([12])
  const [line] = await stage.books(story.gateway())
  expect(line).toMatchObject({ received: 2, answered: 2, merged: 0, refused: 0, dead: 0, inFlight: 0 })
}

function isSame(texts: readonly string[], whole: readonly unknown[]): boolean {
  try {
    expect(texts).toEqual(whole)
    return true
  } catch {
    return false
  }
}

/** Every hop of the message's life is told. */
export async function isExplained({ stage }: Pick<Story, 'stage'>, id: string): Promise<void> {
  const told = await stage.explain(id)
  const hops = ['Received', 'Sender', 'Admitted', 'Turn', 'Step', 'Replied', 'Delivered']
  expect(
    hops.filter((hop) => !told.includes(hop)),
    told,
  ).toEqual([])
}
