// `parley <channel> …`: the commands that channels bring themselves; the CLI only knows their shape.

import { open } from 'node:fs/promises'
import type { ArgsDef } from 'citty'
import type { OperatingContext, OperationResponse } from '../contract/channel-command.ts'
import type {
  ChannelCommand,
  ChannelCommands,
  CommandContext,
  CommandFlags,
  OperatingCommand,
} from '../contract/index.ts'
import { isGatewayError } from '../lib/errors.ts'
import { CommandError, exitCodes, usageError } from './command-error.ts'
import { defineCommand, type Group, type Node } from './command-line.ts'
import { confirmOrAbort, yesArg } from './flags.ts'
import { configArg, loadConfigFromDisk } from './load-config.ts'
import { type CallGateway, operatorCommand } from './operator-command.ts'
import { jsonArg, printAnswer } from './output.ts'

export function channelCommandGroup({ channel, description, commands }: ChannelCommands): Group {
  const examples = commands.flatMap((each) => each.examples.slice(0, 1))
  return { name: channel, description, examples, commands: commands.map((each) => channelCommandNode(channel, each)) }
}

function channelCommandNode(channel: string, given: ChannelCommands['commands'][number]): Node {
  if ('commands' in given)
    return { ...given, commands: given.commands.map((each) => channelCommandNode(channel, each)) }
  return 'operate' in given
    ? channelOperationCommand(channel, given, throwBadRequestAsUsage)
    : channelCommand(channel, given)
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
      const context = createCommandContext(channel, typeof config === 'string' ? config : undefined)
      const { value, text, problem } = await throwBadRequestAsUsage(() => run(given as CommandFlags, context))
      printAnswer(given['json'] === true, value, text)
      if (problem !== undefined) throw new CommandError(exitCodes.failed, 'check_failed', problem)
    },
  })
}

async function throwBadRequestAsUsage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isGatewayError(error) && error.code === 'bad_request' ? usageError(error.message) : error
  }
}

function createCommandContext(channel: string, file: string | undefined): CommandContext {
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

// A channel's command that asks the gateway has the flags and errors of every operator's command.

const connectionArg = {
  connection: {
    type: 'string',
    default: 'default',
    description: 'Which connection of the channel, by its id',
    valueHint: 'id',
  },
} as const

type InUsage = <T>(work: () => Promise<T>) => Promise<T>

function channelOperationCommand(channel: string, given: OperatingCommand, inUsage: InUsage): Node {
  const { name, description, examples, flags, confirm: question } = given
  // The flags of a channel's command are the same data as those of ours.
  const args = { ...flags, ...connectionArg, ...(question === undefined ? {} : yesArg) } as ArgsDef
  return operatorCommand({
    name,
    description,
    examples,
    args,
    async before(all) {
      const words = all as CommandFlags
      if (question !== undefined) await confirmOrAbort(question(words), words['yes'] === true)
    },
    async run({ args: all, callGateway, show, isOffline }) {
      const words = all as CommandFlags
      const context = createChannelOperationContext(`${channel}/${String(words['connection'])}`, callGateway, isOffline)
      const { value, text, problem } = await inUsage(() => given.operate(words, context))
      show(value, text)
      if (problem !== undefined) throw new CommandError(exitCodes.failed, 'check_failed', problem)
    },
  })
}

function createChannelOperationContext(
  connection: string,
  callGateway: CallGateway,
  isOffline: boolean,
): OperatingContext {
  const at = connection.split('/').map(encodeURIComponent).join('/')
  return {
    isOffline,
    readText: readTextFile,
    operate: (name, input) =>
      callGateway<OperationResponse>('POST', `/admin/connections/${at}/operations/${encodeURIComponent(name)}`, {
        body: input,
      }),
  }
}

async function readTextFile(path: string, maxBytes: number): Promise<string> {
  const file = await open(path).catch(() => {
    throw usageError(`${path} cannot be read; name a file that is there`)
  })
  try {
    // One byte more tells whether there are more: the size of a pipe is not known.
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let isMore = true; isMore && length <= maxBytes; ) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length)
      length += bytesRead
      isMore = bytesRead > 0
    }
    if (length > maxBytes) throw usageError(`${path} has more than ${maxBytes} bytes; split it`)
    return bytes.toString('utf8', 0, length)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw usageError(`${path} cannot be read; name a file`)
  } finally {
    await file.close()
  }
}
