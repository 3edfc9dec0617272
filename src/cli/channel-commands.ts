// `parley <channel> …`: the commands that channels bring themselves; the command line only knows their shape.
import type { ArgsDef } from 'citty'
import {
  type ChannelCommand,
  type ChannelCommands,
  type CommandContext,
  type CommandFlags,
  isGatewayError,
} from '../contract/index.ts'
import { channelOperation } from './channel-operation.ts'
import { defineCommand, type Group, type Node } from './command.ts'
import { CommandError, exitCodes, wrongUsage } from './exit.ts'
import { configArg, loadConfigFromDisk } from './load.ts'
import { jsonArg, print } from './output.ts'

export function channelGroup({ channel, description, commands }: ChannelCommands): Group {
  const examples = commands.flatMap((each) => each.examples.slice(0, 1))
  return { name: channel, description, examples, commands: commands.map((each) => channelNode(channel, each)) }
}

function channelNode(channel: string, given: ChannelCommands['commands'][number]): Node {
  if ('commands' in given) return { ...given, commands: given.commands.map((each) => channelNode(channel, each)) }
  return 'operate' in given ? channelOperation(channel, given, asUsageError) : channelCommand(channel, given)
}

function channelCommand(channel: string, { name, description, examples, flags, run }: ChannelCommand): Node {
  // The flags of a channel's command are the same data as those of ours.
  const args = { ...flags, ...configArg, ...jsonArg } as ArgsDef
  return defineCommand({
    name,
    description,
    examples,
    args,
    async run(given) {
      const { config } = given
      const desk = createCommandDesk(channel, typeof config === 'string' ? config : undefined)
      const { value, text, problem } = await asUsageError(() => run(given as CommandFlags, desk))
      print(given['json'] === true, value, text)
      if (problem !== undefined) throw new CommandError(exitCodes.failed, 'check_failed', problem)
    },
  })
}

async function asUsageError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isGatewayError(error) && error.code === 'bad_request' ? wrongUsage(error.message) : error
  }
}

function createCommandDesk(channel: string, file: string | undefined): CommandContext {
  return {
    environment: process.env,
    fetch,
    async settings(connection, instead = {}) {
      const { connections, publicUrl } = await loadConfigFromDisk(file, instead)
      const found = connections.find((each) => each.channel.channel === channel && each.id === connection)
      return found === undefined ? undefined : { settings: found.settings, publicUrl }
    },
  }
}
