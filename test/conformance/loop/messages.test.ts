import { conform } from '../conform.ts'
import { messageCases } from './message-cases.ts'

conform('the message envelope', messageCases)
