// The tree of commands and its entry, from arguments to exit code. Prints for people, or JSON for programs.
import { channelCommands } from '../channels.ts'
import type { ChannelCommands } from '../contract/index.ts'
import { auditConfigCommand, auditListCommand } from './audit.ts'
import { channelCommandGroup } from './channel-commands.ts'
import { hasNameOrAlias, runCli, version } from './command-line.ts'
import { backupCommand, migrateCommand, restoreCommand } from './database.ts'
import { explainCommand } from './explain.ts'
import { readConfigFile, toProblemWithExitCode } from './load-config.ts'
import { deadLettersCommands, retryCommand } from './messages.ts'
import { resourceGroup, resourceToCommandNodes, singleCommandOfResource } from './operation-command.ts'
import { printRemark } from './output.ts'
import { eraseCommand, unblockCommand } from './people.ts'
import { shown } from './resources.ts'
import { eventsCommand, replayCommand } from './runs.ts'
import { rotateCommand } from './secrets.ts'
import { startCommand } from './start.ts'

const root = {
  name: 'parley',
  description: 'Make an agent reachable from every channel, with nothing lost and nothing doubled.',
  examples: ['parley start', 'parley stats'],
  commands: [
    startCommand,
    migrateCommand,
    backupCommand,
    restoreCommand,
    singleCommandOfResource(shown.stats),
    singleCommandOfResource(shown.agents),
    resourceGroup(shown.connections),
    explainCommand,
    resourceGroup(shown.deliveries, [retryCommand]),
    deadLettersCommands,
    resourceGroup(shown.runs, [eventsCommand]),
    replayCommand,
    resourceGroup(shown.approvals),
    resourceGroup(shown.toolRequests),
    resourceGroup(shown.sessions, resourceToCommandNodes(shown.takeovers)),
    resourceGroup(shown.attachments),
    resourceGroup(shown.pairings),
    resourceGroup(shown.grants, [unblockCommand]),
    resourceGroup(shown.principals),
    resourceGroup(shown.tokens),
    resourceGroup(shown.secrets, [rotateCommand]),
    resourceGroup(shown.audit, [auditConfigCommand], [auditListCommand]),
    eraseCommand,
    ...channelCommands.map(channelCommandGroup),
  ],
}

/** Writes to the streams of this process, and answers the exit code. */
export async function runParley(words: readonly string[]): Promise<number> {
  const [word] = words
  const isUnknown =
    word !== undefined && /^[a-z]/.test(word) && !root.commands.some((each) => hasNameOrAlias(each, word))
  // Only a word that is none of ours is worth loading the configuration for.
  const added = isUnknown ? await channelCommandsOfConfig(words) : []
  return runCli({ ...root, commands: [...root.commands, ...added.map(channelCommandGroup)] }, version, words)
}

/** Commands of channels that the configuration adds. One that cannot be loaded adds none: the word stays unknown. */
async function channelCommandsOfConfig(words: readonly string[]): Promise<readonly ChannelCommands[]> {
  const at = words.findIndex((each) => each === '--config' || each.startsWith('--config='))
  const given = at === -1 ? undefined : (/^--config=(.*)$/s.exec(words[at] ?? '')?.[1] ?? words[at + 1])
  const file = await readConfigFile(given).catch((error: unknown) => {
    printRemark(`parley: ${toProblemWithExitCode(error).message}`)
    return undefined
  })
  return (file?.channels ?? []).flatMap(({ commands }) => (commands === undefined ? [] : [commands]))
}
