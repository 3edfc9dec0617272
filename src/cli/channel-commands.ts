// `parley <channel> …`: the commands that channels bring themselves; the command line only knows their shape.
import type { ArgsDef } from 'citty'
import { type ChannelCommand, type ChannelCommands, type CommandFlags, isGatewayError } from '../contract/index.ts'
import { command, type Group, type Node } from './command.ts'
import { wrongUsage } from './exit.ts'
import { jsonArg, print } from './output.ts'

export function channelGroup({ channel, description, commands }: ChannelCommands): Group {
  const examples = commands.flatMap((each) => each.examples.slice(0, 1))
  return { name: channel, description, examples, commands: commands.map(channelCommand) }
}

function channelCommand({ name, description, examples, flags, run }: ChannelCommand): Node {
  // The flags of a channel's command are the same data as those of ours.
  const args = { ...flags, ...jsonArg } as ArgsDef
  return command({
    name,
    description,
    examples,
    args,
    async run(given) {
      const { value, text } = await inUsage(() => run(given as CommandFlags))
      print(given['json'] === true, value, text)
    },
  })
}

async function inUsage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isGatewayError(error) && error.code === 'bad_request' ? wrongUsage(error.message) : error
  }
}
