// Who may touch a run and what waits behind it. Lanes are the queue here: nothing is queued by hand, and what
// waits is drained by itself, in order.

import { defineAgent } from '../../../src/agents/define-agent.ts'
import { textOf } from '../../../src/contract/index.ts'
import type { Database } from '../../../src/db/client.ts'
import { cancelRun, findRuns, listRuns, summarizeRuns } from '../../../src/db/runs.ts'
import { createDoor, putToWork, until } from '../../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import type { Case } from '../conform.ts'

type Scene = {
  readonly gateway: TestGateway
  /** What the agent was given, turn by turn, and what it heard in the middle of one. */
  readonly heard: string[]
  /** Lets the turn that works go on. */
  readonly open: () => void
}

/** A steered agent that works until it is let go, then asks what came meanwhile. */
async function scene<T>(database: Database, play: (scene: Scene) => Promise<T>): Promise<T> {
  const heard: string[] = []
  const door = createDoor()
  const vendor = await startVendorStub()
  const agent = defineAgent({
    slug: 'demo',
    busy: 'steer',
    async run(message, { hear }) {
      heard.push(textOf(message.parts))
      await door.passed
      const more = await hear()
      if (more !== undefined) heard.push(`meanwhile: ${String(more.content)}`)
      return 'yes'
    },
  })
  const gateway = createTestGateway(database, { agents: [agent], connections: loopbackConnections(vendor.origin) })
  const work = putToWork(gateway)
  try {
    return await play({ gateway, heard, open: door.open })
  } finally {
    door.open()
    await work.stop()
    gateway.stop()
    await vendor.close()
  }
}

export const runControlCases = (database: () => Database): readonly Case[] => [
  {
    id: 'L-52',
    claim: 'a stranger gets nothing of what waits behind a run, and the owner keeps it, in order',
    differs: 'lanes are the queue, and each message is admitted on its own',
    run: () =>
      scene(database(), async ({ gateway, heard, open }) => {
        await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
        await until(() => heard.length === 1)
        await gateway.deliver({ id: 'x1', from: 'mallory', text: 'mine' })
        await gateway.deliver({ id: 'm2', from: 'ada', text: 'two' })
        open()
        await until(() => heard.length === 3)
        return heard
      }),
    equals: ['one', 'mine', 'two'],
  },
  {
    id: 'L-52',
    claim: 'the owner of a run is heard in it, and nobody twice',
    differs: 'lanes are the queue, and each message is admitted on its own',
    run: () =>
      scene(database(), async ({ gateway, heard, open }) => {
        await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
        await until(() => heard.length === 1)
        for (const id of ['m2', 'm3', 'm2']) await gateway.deliver({ id, from: 'ada', text: id })
        open()
        await until(() => heard.length === 2)
        return heard
      }),
    equals: ['one', 'meanwhile: m2\n\nm3'],
  },
  {
    id: 'L-53',
    claim: 'a run nobody knows cannot be stopped, found or looked at from another conversation',
    differs: 'a message without a run is no error: it gets one',
    run: () =>
      scene(database(), async ({ gateway, heard }) => {
        const { db } = gateway.deps
        await gateway.deliver({ id: 'm1', from: 'ada', text: 'one', conversation: 'private', claims: ['private'] })
        await until(() => heard.length === 1)
        const [run] = await listRuns(db, { limit: 1, before: null, status: 'running' })
        const unknown = '00000000-0000-7000-8000-000000000000'
        return {
          stopped: (await cancelRun(db, unknown, 'operator')) ?? 'not_found',
          found: (await findRuns(db, unknown)).length,
          elsewhere: (await summarizeRuns(db, unknown, 'loopback:ada')) ?? 'not_found',
          stranger: (await summarizeRuns(db, run?.conversationId ?? '', 'loopback:mallory')) ?? 'not_found',
          owner: (await summarizeRuns(db, run?.conversationId ?? '', 'loopback:ada'))?.running?.owner,
        }
      }),
    equals: {
      stopped: 'not_found',
      found: 0,
      elsewhere: 'not_found',
      stranger: 'not_found',
      owner: 'loopback:ada',
    },
  },
]
