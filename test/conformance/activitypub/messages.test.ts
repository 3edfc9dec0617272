// What comes in over ActivityPub, case by case.
import { conform } from '../conform.ts'
import { messageCases } from './message-cases.ts'

conform('ActivityPub: messages in', messageCases)
