// Templates that make and read media.
import { text, type WorkflowTemplate } from './template.ts';

const pictures: WorkflowTemplate = {
  id: 'product-pictures',
  name: 'Product pictures',
  description:
    'A media pipeline: an image is generated, and then enlarged and cut out side by side, each by the model for it.',
  inputs: [text('product', 'What the picture shows.')],
  steps: [
    {
      id: 'draw',
      type: 'image',
      payload: { prompt: '{{product}} on a white table, soft light', aspectRatio: '1:1', quality: 'high' },
    },
    {
      id: 'versions',
      type: 'parallel',
      branches: [
        {
          id: 'large',
          steps: [{ id: 'enlarge', type: 'upscale', payload: { imageUrl: '{{steps.draw.output.url}}', scale: 2 } }],
        },
        {
          id: 'cut_out',
          steps: [{ id: 'cut', type: 'remove_bg', payload: { imageUrl: '{{steps.draw.output.url}}' } }],
        },
      ],
    },
  ],
  example: { variables: { product: 'A red bicycle bell' } },
};

const podcast: WorkflowTemplate = {
  id: 'podcast',
  name: 'Podcast',
  description: 'Text, speech and music: a prompt writes the script, which is spoken while the music is made.',
  inputs: [text('topic', 'What the episode is about.')],
  steps: [
    { id: 'script', type: 'prompt', prompt: 'A podcast script of 60 words on {{topic}}. Only what is spoken.' },
    {
      id: 'sound',
      type: 'parallel',
      branches: [
        {
          id: 'voice',
          steps: [{ id: 'speak', type: 'speech', payload: { text: '{{steps.script.output}}', voice: 'nova' } }],
        },
        {
          id: 'music',
          steps: [{ id: 'play', type: 'music', payload: { prompt: 'Calm intro for {{topic}}', duration: 10 } }],
        },
      ],
    },
  ],
  example: { variables: { topic: 'bicycles' } },
};

const callNotes: WorkflowTemplate = {
  id: 'call-notes',
  name: 'Notes of a call',
  description: 'A recording is fetched and transcribed, and a prompt writes down what was agreed.',
  inputs: [text('recordingUrl', 'The address of the recording.')],
  steps: [
    { id: 'transcript', type: 'transcription', payload: { url: '{{recordingUrl}}' } },
    { id: 'notes', type: 'prompt', prompt: 'What was agreed, as a list: {{steps.transcript.output.text}}' },
  ],
  example: { variables: { recordingUrl: 'https://recordings.example.com/call.mp3' } },
};

export const mediaTemplates = [pictures, podcast, callNotes];
