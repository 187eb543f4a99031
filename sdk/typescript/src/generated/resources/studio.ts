// This file is generated from the OpenAPI document.

import { Resource } from '../../core/resource.ts';
import { StudioImages } from './studio-images.ts';
import { StudioMusic } from './studio-music.ts';
import { StudioPrompts } from './studio-prompts.ts';
import { StudioVideos } from '../../resources/studio-videos.ts';
import { StudioGenerations } from './studio-generations.ts';
import { StudioModels } from './studio-models.ts';

export class Studio extends Resource {
  readonly images = new StudioImages(this.transport);
  readonly music = new StudioMusic(this.transport);
  readonly prompts = new StudioPrompts(this.transport);
  readonly videos = new StudioVideos(this.transport);
  readonly generations = new StudioGenerations(this.transport);
  readonly models = new StudioModels(this.transport);
}
