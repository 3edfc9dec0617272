// The commands of the channel beside a gateway of this process: what they ask is asked of its own connection.
import { activityPubCommands } from '../../../../../adapters/activitypub/doctor/commands.ts'
import type { OperatingContext } from '../../../../../src/contract/channel-command.ts'
import type { CommandFlags, CommandResult } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import type { FediverseGateway } from '../../../../doubles/fediverse-gateway.ts'

/** `files`: what commands may read, by name. */
export function deskAt(
  { gateway: { gateway } }: FediverseGateway,
  isOffline = false,
  files: Readonly<Record<string, string>> = {},
): OperatingContext {
  const [at] = gateway.connections
  if (at === undefined) throw new Error('no connection')
  return {
    isOffline,
    readText: async (path) => files[path] ?? '',
    async operate(name, input) {
      const {
        value,
        inboxId = null,
        isRepeat = false,
      } = await gateway.operate(at, { name, input, by: 'operator:test' })
      return { value, id: inboxId, isRepeat }
    },
  }
}

/** `parley activitypub <group> <name>`. */
export async function command(
  desk: OperatingContext,
  group: string,
  name: string,
  flags: CommandFlags = {},
): Promise<CommandResult & { readonly value: JsonObject }> {
  const found = activityPubCommands.commands.find((each) => each.name === group)
  const wanted =
    found !== undefined && 'commands' in found ? found.commands.find((each) => each.name === name) : undefined
  if (wanted === undefined || !('operate' in wanted)) throw new Error(`no command ${group} ${name}`)
  const result = await wanted.operate(flags, desk)
  // Every command of this channel answers with an object.
  return { ...result, value: result.value as JsonObject }
}
