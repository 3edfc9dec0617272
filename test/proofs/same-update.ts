// The same update a hundred times in parallel, at every process, on two connections that use equal ids.
import type { DeadLine } from './operator.ts'
import type { Update } from './platform.ts'
import { equal, fact, type Line } from './proof.ts'
import type { Scene } from './scene.ts'

const copies = 100

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
        const outcome = await scene.platform.post(update(connection), urls[copy % urls.length])
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
      equal(`${where}: accepted`, times(`${connection} accepted`), 1),
      fact(`${where}: told duplicate`, times(`${connection} duplicate`)),
      equal(`${where}: effects`, effects.length, 1),
      // On a slow machine its turn may outlive its lease; then it ends with an apology, once as well.
      equal(`${where}: replies, or its name among the dead`, replies.length + dead.filter(isIt).length, 1),
    ]
  })
}
