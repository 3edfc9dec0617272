// `parley secrets rotate`: new keys and tokens in place of those the gateway made for itself, while it works.

import { connections } from '../api/connections.ts'
import { secrets } from '../api/credentials.ts'
import type { OperationOutput } from '../api/resource.ts'
import { CommandError, exitCodes, usageError } from './command-error.ts'
import { confirmOrAbort, yesArg } from './flags.ts'
import { type AskOperation, operatorCommand } from './operator-command.ts'
import { printableLine } from './output.ts'

type RotatedSecret = OperationOutput<typeof secrets.operations.rotate>

export const rotateCommand = operatorCommand({
  name: 'rotate',
  description:
    'Make new keys while the gateway works. What was signed or sealed with the old ones goes on to count; see the list.',
  examples: [
    'parley secrets rotate sealing-key',
    'parley secrets rotate file-handles,gateway#attestations',
    'parley secrets rotate --all --yes',
  ],
  args: {
    name: { type: 'positional', required: false, description: 'As the list calls it; several with commas' },
    all: { type: 'boolean', description: 'All of them, the admin token too' },
    ...yesArg,
  },
  async before({ name, all, yes }) {
    if ((name === undefined) === (all !== true)) throw usageError('name a key, or give --all; see parley secrets list')
    if (all === true) await confirmOrAbort('Make new keys and a new admin token?', yes)
  },
  async run({ args, ask, show }) {
    const known = (await ask(secrets.operations.list, {})).secrets
    const wanted =
      args.all === true
        ? known.filter(({ isRotated }) => isRotated).map(({ name }) => name)
        : splitSecretNames(args.name)
    const unknown = wanted.find((name) => known.every((each) => each.name !== name))
    if (unknown !== undefined)
      throw new CommandError(
        exitCodes.notFound,
        'not_found',
        `there is no key ${printableLine(unknown)}; see parley secrets list`,
      )
    const rotated: RotatedSecret[] = []
    // The token that this command works with comes last.
    for (const name of [...wanted].sort((one, other) => rotationRank(one) - rotationRank(other))) {
      if (name === 'admin-token') continue
      const line = known.find((each) => each.name === name)
      rotated.push(
        line?.kind === 'actor' ? await rotateActorKey(ask, name) : await ask(secrets.operations.rotate, { name }),
      )
    }
    const sealed = wanted.includes('sealing-key') ? await resealAllSecretsTwice(ask) : undefined
    if (wanted.includes('admin-token')) rotated.push(await ask(secrets.operations.rotate, { name: 'admin-token' }))
    const words = rotated.map(({ name, token, note }) =>
      printableLine(`${name}: ${note ?? (token === undefined ? 'new' : `${token} (shown this once)`)}`),
    )
    const rows = sealed === undefined ? [] : [`Sealed anew: ${sealed.resealed} rows.`]
    show({ rotated, ...(sealed === undefined ? {} : { sealed }) }, [...words, ...rows].join('\n'))
    if (sealed !== undefined && sealed.unopened > 0)
      throw new CommandError(
        exitCodes.failed,
        'unopened',
        `${sealed.unopened} rows are sealed by a key that this gateway does not have; add it to PARLEY_SEAL_KEY and run this again`,
      )
  },
})

function splitSecretNames(name: string | undefined): readonly string[] {
  const names = (name ?? '').split(',').map((each) => each.trim())
  return [...new Set(names.filter((each) => each !== ''))]
}

/** What seals the others is new before they are. */
function rotationRank(name: string): number {
  return name === 'sealing-key' ? 0 : 1
}

/** Servers of followers are told, by the channel itself. */
async function rotateActorKey(ask: AskOperation, name: string): Promise<RotatedSecret> {
  const [at = '', actor = ''] = name.split('#')
  const [channel = '', connection = ''] = at.split('/')
  const input = { owner: actor.replace(/^agent:/, ''), again: false }
  await ask(connections.operations.operate, { ...input, channel, connection, name: 'keys.rotate' })
  return { name }
}

/** A replica goes on with the old key for some seconds: what it sealed meanwhile is found by the last pass. */
const othersKnowMs = 6_000

async function resealAllSecretsTwice(
  ask: AskOperation,
): Promise<{ readonly resealed: number; readonly unopened: number }> {
  const resealAllBatches = async (): Promise<{ resealed: number; unopened: number }> => {
    let resealed = 0
    for (;;) {
      const done = await ask(secrets.operations.reseal, {})
      resealed += done.resealed
      if (done.isDone) return { resealed, unopened: done.unopened }
    }
  }
  const first = await resealAllBatches()
  await new Promise((resolve) => setTimeout(resolve, othersKnowMs))
  const last = await resealAllBatches()
  return { resealed: first.resealed + last.resealed, unopened: last.unopened }
}
