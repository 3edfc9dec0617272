// What only the Slack channel says to people.
import type { SpeakingDeps } from '../../src/contract/index.ts'

/** The pages of an install are read by the person who installs the app. */
export const slackSentences = {
  'slack.installed': 'Installed',
  'slack.installed_in': 'The app is now in {where}. You can close this window.',
  'slack.your_workspace': 'your workspace',
  'slack.install_denied': 'Not installed',
  'slack.install_denied_remedy':
    'Slack was told not to install the app. Nothing was kept. You can close this window or begin again.',
  'slack.install_expired': 'This install cannot go on',
  'slack.install_expired_remedy':
    'It was begun in another browser, more than ten minutes ago, or is finished already. Nothing was kept. Begin again.',
  'slack.install_refused': 'Slack refused this install',
  'slack.install_refused_remedy':
    'The code it gave was used before, or the app is set up differently there. Nothing was kept. Begin again.',
  'slack.install_busy': 'Too many installs are under way',
  'slack.install_busy_remedy': 'Nothing was begun. Wait ten minutes and begin again.',
  'slack.install_failed': 'Slack did not answer',
  'slack.install_failed_remedy': 'Nothing was kept. Wait a little and begin again.',
} as const

export type SlackSay = SpeakingDeps<typeof slackSentences>['say']
