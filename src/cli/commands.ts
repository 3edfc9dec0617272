// The tree of commands and its entry, from arguments to exit code. Prints for people, or JSON for programs.
import { channelCommands } from '../channels.ts'
import { approvalsCommands, toolRequestsCommands } from './approvals.ts'
import { attachmentsCommands } from './attachments.ts'
import { auditCommands } from './audit.ts'
import { channelGroup } from './channel-commands.ts'
import { runCli, version } from './command-line.ts'
import { backupCommand, migrateCommand, restoreCommand } from './database.ts'
import { deadLettersCommands, deliveriesCommands } from './deliveries.ts'
import { eraseCommand } from './erase.ts'
import { explainCommand } from './explain.ts'
import { agentsCommand, connectionsCommands, statsCommand } from './gateway-status.ts'
import { grantsCommands } from './grants.ts'
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
export function runParley(words: readonly string[]): Promise<number> {
  return runCli(root, version, words)
}
