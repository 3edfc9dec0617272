// The renderers of others, on their own versions (bench/package.json). Loaded as it is and never bundled: it is here only when
// somebody asks for the scenario, and nothing of it may reach the product.
import { SlackFormatConverter } from '@chat-adapter/slack'
import { TelegramFormatConverter } from '@chat-adapter/telegram'
import { slackifyMarkdown } from 'slackify-markdown'

const slack = new SlackFormatConverter()
const telegram = new TelegramFormatConverter()

/** From Markdown to what they would send: a text of old markup, a text of Markdown, a text of MarkdownV2. */
export const rivals = {
  'slackify-markdown': (markdown) => slackifyMarkdown(markdown),
  'chat-adapter-slack': (markdown) => slack.fromMarkdown(markdown),
  'chat-adapter-slack-mrkdwn': (markdown) => slack.toResponseUrlText({ markdown }),
  'chat-adapter-telegram': (markdown) => telegram.renderPostable({ markdown }),
}
