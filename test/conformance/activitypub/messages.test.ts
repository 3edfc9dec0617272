// What comes in over ActivityPub, held to the specification's cases.
import { conform } from '../conform.ts'
import { messageCases } from './message-cases.ts'

conform('ActivityPub: messages in', messageCases)
