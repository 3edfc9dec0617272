// The same update a hundred times in parallel, at every process, on two connections that use equal ids.
import type { SendClass } from '../doubles/loopback/deliver.ts'
import type { Scene } from './crash-setup.ts'
import { check, equal, fact, type Line } from './crash-test.ts'
import type { DeadLine } from './operator.ts'
import type { Update } from './platform.ts'

const copies = 100
/** Longer than a busy machine stands still: each copy is to be told what it was. */
const patienceMs = 60_000

export async function sendSameUpdate(
  scene: Scene,
  connections: readonly [string, string],
  urls: readonly string[],
): Promise<readonly Line[]> {
  const update = (connection: string): Update => ({
    connection,
    conversation: 'same',
    id: 'same-1',
    from: 'ada',
    wish: 'plain',
  })
  const told = await Promise.all(
    connections.flatMap((connection) =>
      Array.from({ length: copies }, async (_, copy) => {
        const outcome = await scene.platform.post(update(connection), urls[copy % urls.length], patienceMs)
        return `${connection} ${outcome ?? 'no 2xx'}`
      }),
    ),
  )
  await scene.settle()
  const dead = await scene.operator.dead()
  const times = (text: string): number => told.filter((each) => each === text).length
  return connections.flatMap((connection) => {
    const effects = scene.tool.effects.filter((effect) => effect.connection === connection && effect.id === 'same-1')
    const replies = scene.vendor(connection).messages.filter((message) => message.text === 'saw same-1')
    const isIt = (line: DeadLine) => line.connection === connection && line.messageId === 'same-1'
    const where = `same update x${copies} on "${connection}"`
    return [
      atMostOnce(`${where}: accepted`, times(`${connection} accepted`)),
      fact(`${where}: told duplicate`, times(`${connection} duplicate`)),
      equal(`${where}: effects`, effects.length, 1),
      oneEnd(where, replies.length, dead.filter(isIt), scene.sendClassOf(connection)),
    ]
  })
}

/** None, where the machine stood still: the one that was stored was told 503 in time, and all others after it as well. */
function atMostOnce(name: string, count: number): Line {
  return check(name, count, '<= 1', count <= 1)
}

/**
 * One reply and no death, whatever the copies do. A machine that stands still for longer than the lease has two other ends,
 * and both are the promise and not its breach: the step was under way when its turn lost the lane, so nobody can know its
 * outcome, and an apology went out instead of a reply; or, where a send can be neither repeated nor looked up, the vendor's
 * answer came too late to be heard, and the reply is shown as unknown, arrived or not.
 */
function oneEnd(where: string, replies: number, dead: readonly DeadLine[], sendClass: SendClass): Line {
  const end = [`${replies} replies`, ...dead.map((line) => `dead ${line.reason}`)].join(', ')
  const allowed = ['1 replies', '0 replies, dead tool_outcome_unknown']
  if (sendClass === 'none') allowed.push('0 replies, dead delivery_unknown', '1 replies, dead delivery_unknown')
  return check(`${where}: its end`, end, 'one reply, or an unknown outcome after a standstill', allowed.includes(end))
}
