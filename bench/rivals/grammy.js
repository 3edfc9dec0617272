// grammY behind node:http: the secret is compared, the update parsed, a handler called that does nothing, or answers. Nothing is kept.
import { Bot, webhookCallback } from 'grammy'
import { listen } from './listen.js'

export async function start({ botToken, webhookSecret, botUsername, apiUrl, answers = false }) {
  let handled = 0
  const botInfo = { id: Number(botToken.split(':')[0]), is_bot: true, first_name: 'Bench', username: botUsername }
  const bot = new Bot(botToken, { botInfo, client: { apiRoot: apiUrl } })
  bot.on('message', async (context) => {
    handled += 1
    if (answers) await context.reply(`${context.message.text.split(' ', 1)[0]} seen`)
  })
  const { port, stop } = await listen(webhookCallback(bot, 'http', { secretToken: webhookSecret }))
  return { port, stop, handled: () => handled }
}
