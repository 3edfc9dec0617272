// replicas on PGlite: a folder has exactly one process. A second one is refused, and one that was frozen longer than its
// lease while turns ran neither doubles an effect nor breaks an order when it goes on.
import { audit } from './audit.ts'
import { createFreezer } from './freezer.ts'
import { StartRefused } from './gateway-process.ts'
import { check, equal, fact, type Proof } from './proof.ts'
import { fencing, replicaConnections, sendRounds, slowVendors, stopPlans } from './replicas.ts'
import { sendSameUpdate } from './same-update.ts'
import { createScene, type Scene } from './scene.ts'

const sizes = {
  ci: { leaseMs: 1200, conversations: 16, rounds: 3, hits: 3 },
  full: { leaseMs: 3000, conversations: 1000, rounds: 10, hits: 60 },
} as const

export const replicasOnPglite: Proof = async (options) => {
  const size = sizes[options.scale]
  const { leaseMs } = size
  const scene = await createScene(options, { connections: replicaConnections, leaseMs, toolLatencyMs: 10 })
  try {
    slowVendors(scene)
    const freezer = createFreezer(leaseMs)
    const plans = stopPlans(options.scale, size.hits)
    const only = await scene.start(plans)
    const refusal = await secondStart(scene)
    const traffic = sendRounds(scene, size)
    // Generous: a process that stops itself after nobody waits for that any more stays stopped.
    const until = performance.now() + 1_500_000
    const ticker = setInterval(() => {
      options.say(`${scene.platform.acknowledged.size} acknowledged, ${freezer.freezes.length} freezes`)
    }, 500)
    const thawed = await freezer.thawEach(only, plans.length, () => performance.now() > until)
    await freezer.freeze(only)
    await traffic.finish()
    clearInterval(ticker)
    options.say('waiting for the last answers')
    const isQuiet = await scene.settle(300_000)
    const same = await sendSameUpdate(scene, ['client-id', 'none'], [only.url])
    const audited = await audit(scene)
    await only.stop()
    return [
      fact('processes', '1: a PGlite folder belongs to one process'),
      check('a second process on the same folder', refusal, 'data_dir_locked', refusal === 'data_dir_locked'),
      check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      equal('times the process froze at a failpoint', thawed, plans.length),
      equal('times it was frozen from outside', freezer.freezes.length - thawed, 1),
      ...fencing(scene, freezer, [only]),
      ...same,
      ...audited.lines,
    ]
  } finally {
    await scene.close()
  }
}

async function secondStart(scene: Scene): Promise<string> {
  try {
    const second = await scene.start()
    await second.kill()
    return 'started'
  } catch (error) {
    return error instanceof StartRefused ? error.code : 'failed otherwise'
  }
}
