// The tree of commands and its entry, from arguments to exit code. Prints for people, or JSON for programs.
import { channelCommands } from '../channels.ts'
import type { ChannelCommands } from '../contract/index.ts'
import { approvalsCommands, toolRequestsCommands } from './approvals.ts'
import { attachmentsCommands } from './attachments.ts'
import { auditCommands } from './audit.ts'
import { channelGroup } from './channel-commands.ts'
import { isNamed, runCli, version } from './command-line.ts'
import { backupCommand, migrateCommand, restoreCommand } from './database.ts'
import { deadLettersCommands, deliveriesCommands } from './deliveries.ts'
import { eraseCommand } from './erase.ts'
import { explainCommand } from './explain.ts'
import { agentsCommand, connectionsCommands, statsCommand } from './gateway-status.ts'
import { grantsCommands } from './grants.ts'
import { describeProblem, readConfigFile } from './load-config.ts'
import { printRemark } from './output.ts'
import { pairingsCommands, principalsCommands } from './principals.ts'
import { replayCommand, runsCommands } from './runs.ts'
import { secretsCommands } from './secrets.ts'
import { sessionsCommands } from './sessions.ts'
import { startCommand } from './start.ts'
import { tokensCommands } from './tokens.ts'

const root = {
  name: 'parley',
  description: 'Make an agent reachable from every channel, with nothing lost and nothing doubled.',
  examples: ['parley start', 'parley stats'],
  commands: [
    startCommand,
    migrateCommand,
    backupCommand,
    restoreCommand,
    statsCommand,
    agentsCommand,
    connectionsCommands,
    explainCommand,
    deliveriesCommands,
    deadLettersCommands,
    runsCommands,
    replayCommand,
    approvalsCommands,
    toolRequestsCommands,
    sessionsCommands,
    attachmentsCommands,
    pairingsCommands,
    grantsCommands,
    principalsCommands,
    tokensCommands,
    secretsCommands,
    auditCommands,
    eraseCommand,
    ...channelCommands.map(channelGroup),
  ],
}

/** Writes to the streams of this process, and answers the exit code. */
export async function runParley(words: readonly string[]): Promise<number> {
  const [word] = words
  const isUnknown = word !== undefined && /^[a-z]/.test(word) && !root.commands.some((each) => isNamed(each, word))
  // Only a word that is none of ours is worth loading the configuration for.
  const added = isUnknown ? await commandsOfConfig(words) : []
  return runCli({ ...root, commands: [...root.commands, ...added.map(channelGroup)] }, version, words)
}

/** Commands of channels that the configuration adds. One that cannot be loaded adds none: the word stays unknown. */
async function commandsOfConfig(words: readonly string[]): Promise<readonly ChannelCommands[]> {
  const at = words.findIndex((each) => each === '--config' || each.startsWith('--config='))
  const given = at === -1 ? undefined : (words[at]?.split('=')[1] ?? words[at + 1])
  const file = await readConfigFile(given).catch((error: unknown) => {
    printRemark(`parley: ${describeProblem(error).message}`)
    return undefined
  })
  return (file?.channels ?? []).flatMap(({ commands }) => (commands === undefined ? [] : [commands]))
}
