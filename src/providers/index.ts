// What other parts use of providers: the ports, their registries, and the examination of media.

export { examineAudio } from './audio/audio-examination.ts';
export type { ChatAnswer, ChatMessage, ChatModel } from './chat-ports.ts';
export { examineImage } from './images/examination.ts';
export {
  ImageUnusable,
  type JobImage,
  type MadeMedia,
  type MediaJob,
  type MediaModel,
  SubmissionLost,
} from './media-ports.ts';
export { type MediaRegistry, mediaModelFor } from './media-registry.ts';
export type { ProviderServices } from './part.ts';
export type { Call, JsonSchema, TextAnswer, TextModel, TextRequest } from './ports.ts';
export type { ProviderRegistry } from './registry.ts';
export type { SpeechRequest, Transcript } from './voice-ports.ts';
export type { VoiceRegistry } from './voice-registry.ts';
